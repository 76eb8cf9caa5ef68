"""The pytest plugin: it runs checkers on the launches of tests, and collects files of cases as tests."""

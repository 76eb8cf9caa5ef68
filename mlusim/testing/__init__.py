"""The plugin of pytest, which watches the launches of tests with the checkers and runs files of cases."""

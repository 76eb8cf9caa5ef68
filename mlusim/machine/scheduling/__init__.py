"""The choice of the core that runs next, and of the moment at which asynchronous effects land."""

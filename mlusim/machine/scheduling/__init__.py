"""Which core runs next, and when asynchronous effects land."""

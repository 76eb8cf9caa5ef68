"""The driver's libraries in C++, and what compiles them."""

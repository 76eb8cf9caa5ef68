"""Classes of the C++ library in a host program."""

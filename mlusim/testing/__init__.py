"""For tests of kernels: the plugin of pytest that holds their launches under the checkers."""

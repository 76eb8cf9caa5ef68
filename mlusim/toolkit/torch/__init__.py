"""PyTorch's device ``mlu``: the back end in C++, the package ``torch_mlu``, and the builder of extensions for it."""

"""PyTorch's device ``mlu``: the backend in C++, the package ``torch_mlu``, and what builds extensions for it."""

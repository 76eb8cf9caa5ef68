"""Tools for building extensions."""


def __getattr__(name: str) -> object:
    """Refuse ``cmake_prefix_path``, which has a replacement: raises `AttributeError`."""
    why = (
        ": there is no CMake package of the device; build with torch_mlu.utils.cpp_extension"
        if name == "cmake_prefix_path"
        else ""
    )
    message = f"module 'torch_mlu.utils' has no attribute {name!r}{why}"
    raise AttributeError(message)

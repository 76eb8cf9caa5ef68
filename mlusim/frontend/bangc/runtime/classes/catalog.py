"""Which classes of the C++ library a host program has."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from mlusim.frontend.bangc.runtime.classes import maps, randoms, readers, strings, variadic, vectors

CLASSES: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "std::vector": vectors.vector,
        "std::initializer_list": vectors.vector,
        "std::array": vectors.array,
        "std::string": strings.string,
        "std::map": maps.mapping,
        "std::unordered_map": maps.hashed,
        "std::set": maps.keys,
        "std::unordered_set": maps.hashed_keys,
        "std::function": variadic.function,
        "std::stringstream": readers.text_stream,
        "std::ifstream": readers.input_file,
        "std::ofstream": readers.output_file,
        "std::fstream": readers.both_file,
        "std::mt19937": randoms.twister,
        "std::random_device": randoms.twister,
        "std::uniform_real_distribution": randoms.reals,
        "std::uniform_int_distribution": randoms.integers,
        "std::normal_distribution": randoms.normal,
    }
)

"""Which classes of the C++ library a host program has."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from mlusim.frontend.bangc.runtime import host_maps, host_random, host_streams, host_strings, host_vectors

CLASSES: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "std::vector": host_vectors.vector,
        "std::array": host_vectors.array,
        "std::string": host_strings.string,
        "std::map": host_maps.mapping,
        "std::unordered_map": host_maps.mapping,
        "std::set": host_maps.keys,
        "std::unordered_set": host_maps.keys,
        "std::stringstream": host_streams.text_stream,
        "std::ostringstream": host_streams.text_stream,
        "std::mt19937": host_random.twister,
        "std::random_device": host_random.twister,
        "std::uniform_real_distribution": host_random.reals,
        "std::uniform_int_distribution": host_random.integers,
        "std::normal_distribution": host_random.normal,
    }
)

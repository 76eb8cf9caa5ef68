"""Random numbers of the devices: each has a generator of its own, and the CPU draws the numbers."""

from collections.abc import Iterable

import torch
from torch_mlu import _C
from torch_mlu.mlu.device import device_count, index_of


def _generators() -> tuple[torch.Generator, ...]:
    """Return the generator of each device."""
    return tuple(_C.default_generator(number) for number in range(device_count()))


def manual_seed(seed: int) -> None:
    """Seed the generator of the current device."""
    _C.default_generator(index_of()).manual_seed(int(seed))


def manual_seed_all(seed: int) -> None:
    """Seed the generators of all devices."""
    for generator in _generators():
        generator.manual_seed(int(seed))


def seed() -> None:
    """Seed the generator of the current device with a number that differs each time."""
    _C.default_generator(index_of()).seed()


def seed_all() -> None:
    """Seed the generators of all devices with one number that differs each time."""
    manual_seed_all(_C.default_generator(0).seed())


def initial_seed() -> int:
    """Return the seed of the current device's generator."""
    return int(_C.default_generator(index_of()).initial_seed())


def get_rng_state(device: object = "mlu") -> torch.Tensor:
    """Return the state of the generator of *device*, as bytes."""
    return _C.default_generator(index_of(device)).get_state()


def get_rng_state_all() -> list[torch.Tensor]:
    """Return the states of the generators of all devices."""
    return [get_rng_state(number) for number in range(device_count())]


def set_rng_state(new_state: torch.Tensor, device: object = "mlu") -> None:
    """Set the state of the generator of *device*."""
    _C.default_generator(index_of(device)).set_state(new_state)


def set_rng_state_all(new_states: Iterable[torch.Tensor]) -> None:
    """Set the states of the generators of all devices."""
    for number, state in enumerate(new_states):
        set_rng_state(state, number)

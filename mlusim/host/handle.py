"""`Handle`: a board as the host library sees it, with the last error and the launches made."""

import logging
from collections.abc import Iterable, Sequence
from typing import Any

from mlusim.arch.board import Board
from mlusim.machine.device import Device
from mlusim.machine.kernel import UNION1, Kind
from mlusim.machine.launch import Launch
from mlusim.machine.options import LaunchOptions
from mlusim.plan.layout import Layout

LOG = logging.getLogger("mlusim.host")


class Handle:
    """A board as the host library sees it, with the last error and the launches made.

    ``device`` holds the tensors, ``last_error`` the sentence of the last failure (empty after a
    success), ``launches`` what was launched, ``layouts`` the NRAM plans that kernels were given.
    *observe*, *seed*, *effects* and *engine* apply to every launch, or *options* in place of them.  ``policy`` names
    the rule by which a host function chooses tiles and the like, if it has several rules; None: the usual rule.
    """

    def __init__(
        self,
        board: str | Board = "MLU370-X4",
        *,
        observe: Iterable[Any] = (),
        seed: int | None = None,
        effects: str = "late",
        policy: str | None = None,
        engine: str = "auto",
        options: LaunchOptions | None = None,
    ) -> None:
        self.device = Device(board)
        self.board = self.device.board
        self.policy = policy
        self.last_error = ""
        self.launches: list[Launch] = []
        self.layouts: list[Layout] = []
        if options is None:
            # A generator would be exhausted by the first launch; a value that cannot be iterated is refused
            # at the launch.
            as_is = isinstance(observe, str) or not isinstance(observe, Iterable)
            options = LaunchOptions(observe if as_is else tuple(observe), seed, effects, engine)
        self.options = options

    def __repr__(self) -> str:
        return f"<Handle {self.board.name}>"

    @property
    def cores_per_cluster(self) -> int:
        """IPU cores of a cluster (``getCoreNumOfEachUnionCapability``)."""
        return self.board.arch.cores_per_cluster

    @property
    def clusters(self) -> int:
        """The number of visible clusters (``getClusterLimitCapability``)."""
        return self.board.clusters

    @property
    def nram_size(self) -> int:
        """Bytes of NRAM that a kernel may use: the hardware's less 128 KiB."""
        return self.board.arch.max_nram

    def launch(
        self, kernel: object, dim: Sequence[int], kind: Kind = UNION1, args: Sequence[Any] = ()
    ) -> Launch:
        """Launch *kernel* and keep the result in ``launches``."""
        if LOG.isEnabledFor(logging.DEBUG):
            name = getattr(kernel, "name", None) or getattr(kernel, "__name__", kernel)
            LOG.debug("launch %s<<<(%s), %s>>> on %s", name, ", ".join(map(str, dim)), kind, self.board.name)
        launch = self.device.launch_with(self.options, kernel, dim, kind, args)
        self.launches.append(launch)
        # A host function passes the plan that it chose to its kernel as an argument.
        self.layouts.extend(a for a in args if isinstance(a, Layout) and a not in self.layouts)
        return launch

"""`ByteSpan`: bytes of one memory, and whose memory it is."""

from typing import TYPE_CHECKING

from attrs import frozen

from mlusim.arch.dtypes import DType
from mlusim.debug.source.core_names import owner_of
from mlusim.memory.allocation import Allocation
from mlusim.memory.space import Space

if TYPE_CHECKING:
    from mlusim.machine.core import Core


@frozen
class ByteSpan:
    """Bytes [``low``, ``high``) of one memory, as device addresses.

    ``owner`` is whose memory it is: a core's name, a cluster's, or None for GDRAM; with ``anyone`` the
    same addresses of every core or cluster are meant.  ``dtype`` is the element type, where it is known.
    """

    space: Space
    low: int
    high: int
    text: str
    dtype: DType | None = None
    owner: str | None = None
    anyone: bool = False

    @property
    def nbytes(self) -> int:
        """The size of the span, in bytes."""
        return self.high - self.low

    def belongs(self, core: "Core", allocation: Allocation) -> bool:
        """Return whether *allocation*, which an instruction of *core* names, is in this memory."""
        return self.anyone or self.owner is None or owner_of(core, allocation) == self.owner

    def __str__(self) -> str:
        mine = "" if self.owner is None or self.anyone else f" of {self.owner}"
        return f"{self.space} {self.low:#x}..{self.high:#x}{mine}"

"""String literals in C: each a constant of the kernel, outside simulated memory; equal ones are one."""

from collections.abc import Iterator

from mlusim.engine.native.layout import LITERAL
from mlusim.frontend.bangc import ir
from mlusim.frontend.bangc.native.rendering import Rendering


def raw(text: str) -> bytes:
    """Return the bytes of a literal, with the zero at its end."""
    return text.encode("utf-8", "surrogateescape") + b"\0"


def pointer(c: Rendering, node: ir.Text) -> str:
    """Render a pointer to the first character of a literal."""
    return f"PLACES_(m)[{c.literal(node.value)}]"


def made(c: Rendering) -> Iterator[str]:
    """Lines for the beginning of the kernel: its literals."""
    for text, place in c.literals.items():
        content = raw(text)
        numbers = ",".join(map(str, content))
        yield (
            f"  {{ static const uint8_t s_[] = {{{numbers}}}; Ptr p_ = cell_(m, {len(content)}, {LITERAL});"
            f" memcpy(at(see(m, p_)), s_, sizeof s_); PLACES_(m)[{place}] = fixed_(m, p_, {c.text(text)}); }}\n"
        )

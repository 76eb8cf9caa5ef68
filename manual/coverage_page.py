"""The page of coverage: every name of the vendor, its counterpart here, and how certain that is."""

from collections.abc import Iterator, Mapping

from mlusim.cli.isa_coverage import VendorName, row_of, vendor_names
from mlusim.isa.declare import Intrinsic
from mlusim.isa.table import FAMILIES, FORMS_REPLACED, ISA, REPLACED

LANGUAGE: Mapping[str, str] = {
    "__mlu_global__": "`@kernel`",
    "__mlu_entry__": "`@kernel`",
    "__mlu_func__": "a Python function",
    "__mlu_builtin__": "an attribute of `mlu`, such as `mlu.taskId`",
    "__mlu_device__": "a tensor of the device",
    "__mlu_const__": "a tensor passed as const",
    "__mlu_shared__": "`mlu.shared(dtype, count)`",
    "__mlu_vector__": "a Python function with registers, such as `vv_float()`",
    "__nram__": "`mlu.nram(dtype, count)`",
    "__wram__": "`mlu.wram(dtype, count)`",
    "__ldram__": "`mlu.ldram(dtype, count)`",
}
OUR_FORMS = (
    "bang_div_addition",
    "bang_conv_bias",
    "bang_mlp_bias",
    "bang_count_stored",
    "vv_load_m_counted",
    "vv_load_z_counted",
    "vv_store_m_counted",
    "bang_findfirst1_stored",
    "bang_findlast1_stored",
)
"""The rows for longer forms of a vendor's name, to which a call of that name leads."""

HEAD = """# Coverage of the vendor's names

{used} of {used} names that the vendor's kernels use, and {others} more of its headers and documents, are here; each is
executed by a test against a definition by loops; a sync or barrier against who waits for what, a print, a dump or an
assertion against what it says.

The first table has the names that begin with two underscores and are called in the kernels of Cambricon/mlu-ops
(revision 73adc65, `grep -rhoE '\\b__[a-z_0-9]+ *\\('` without attributes and compiler extensions): {used} of them.
It was put together from a survey of these kernels: {counted} names with the number of their uses, and {helpers} of
the helper library and {uncounted} others of which only the use is known, not the number.  One or another of the last
may be declared there rather than used.

The marks: **C** certain, **D** derived, **I** inferred from use, **U** unknown with a default chosen, **-** a helper made of intrinsics.

`tests/isa/test_isa_coverage.py` executes the test that holds each name to its definition, sees the intrinsic or helper executed in it, then
replaces it by one that does nothing and sees the test fail.  Made by `python -m manual.isa_pages`.
"""
REFUSED = """A kernel that calls one is refused at its line, with what to do instead.  A load or a store of a register in GDRAM is refused when
it is executed: what it costs and how it is ordered with copies is not public, and `__memcpy` brings the data to NRAM.
"""
TABLE = "| name | uses | here | | described in |\n| --- | --- | --- | --- | --- |"


def coverage_page() -> str:
    """Return the page as Markdown."""
    names = vendor_names()
    used = [name for name in names if name.uses]
    others = [name for name in names if not name.uses]
    helpers = sum(name.uses == "?" and name.bare.startswith("mluop_") for name in names)
    uncounted = sum(name.uses == "?" for name in names)
    text = HEAD.format(
        used=len(used),
        others=len(others),
        counted=len(used) - uncounted,
        helpers=helpers,
        uncounted=uncounted - helpers,
    )
    parts = [
        text,
        "## Names that kernels use\n",
        *_table(used),
        "\n## Other names\n",
        "Documented and not used at that revision, or one of a family's suffixes.\n",
        *_table(others),
        "\n## Names that are refused\n",
        REFUSED,
        *refused_names(),
        "\n## Words of the language\n",
        "| word | here |\n| --- | --- |",
        *(f"| `{word}` | {here} |" for word, here in LANGUAGE.items()),
    ]
    return "\n".join(parts) + "\n"


def refused_names() -> Iterator[str]:
    """Yield the table of the names that a kernel may not call, with what to do instead."""
    yield "| name | what to do |\n| --- | --- |"
    names: dict[str, list[str]] = {}
    for name, what in REPLACED.items():
        names.setdefault(what, []).append(f"`{name}`")
    for what, spellings in names.items():
        yield f"| {', '.join(spellings)} | {what} |"
    for what in dict.fromkeys(FORMS_REPLACED.values()):
        yield f"| loads and stores of registers with another type in memory | {what} |"


def _table(names: list[VendorName]) -> Iterator[str]:
    order = {row.name: n for n, row in enumerate(ISA.values())}
    rows = [(name, row_of(name)) for name in names]
    yield TABLE
    # In the order of the table, helpers last, so that a family stays together.
    for name, row in sorted(
        rows, key=lambda pair: (len(order) if pair[1] is None else order[pair[1].name], pair[0].bare)
    ):
        yield f"| `{name.spelling}` | {name.uses} | {_here(name, row)} |"


def _here(name: VendorName, row: Intrinsic | None) -> str:
    if row is None:
        return f"`{name.bare}(mlu, ...)` | - | [helpers](../helpers.md)"
    family = next(family.name for family in FAMILIES if row in family.rows)
    return f"`mlu.{row.name}` | {row.certainty} | [{family}]({family}.md#{row.spelling})"

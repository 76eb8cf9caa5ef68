"""The page of ``cncc``'s flags, written from their table: ``python -m mlusim.manual.cncc_page > PAGE``."""

from mlusim.arch.catalog import ARCHES
from mlusim.toolkit.cncc import QUIET, VERSION
from mlusim.toolkit.compiler import CHOICE, OLDEST
from mlusim.toolkit.flags import ARCHITECTURES, ASSEMBLER_FLAGS, FLAGS, CompilerFlag, FlagUse

HEAD = f"""# cncc

Made from the driver's own table by `python -m mlusim.manual.cncc_page`.

`cncc` of a [toolkit folder](../how-to/your-project.md) compiles `.mlu` files and plain C and C++, and links programs and libraries.
It answers `--version` as the vendor's compiler {VERSION} does.
Host code is compiled by clang in its CUDA mode: the one that `{CHOICE}` names, a `clang++` from {OLDEST} on that is found on the `PATH`,
or the one in the `ziglang` wheel (the extra `native`).
Device code goes through mlusim's front end at the same time; its typed form is embedded in the object as data, once for each
architecture that is named, or for that of the folder's board.
A program therefore runs where its sources are gone; where they are, every tool shows their lines.

What a kernel does that the front end does not take is a warning with its line and a caret, and a fault when that kernel is launched.
Errors of the source are clang's own.

The vendor's flags, older spellings among them, and those of clang's that the driver looks at; every other flag goes to clang as it
stands. `@FILE` stands for the flags in a file.
A flag of the vendor's that the table does not have is refused.

| flag | meaning | what is done |
| --- | --- | --- |
"""

LAUNCHED = """
Objects that another compiler made launch a kernel of an object by its plain name, declared `extern "C"`, or by its mangled one, where a half may
be an `unsigned short`: `cnrtInvokeKernel_V2((void *)&kernel, ...)`.
Names that two kernels of a file share, and names of the C library, are not offered.
With `--bang-device-only` the host's own functions and variables of the file are not seen by the linker, and two objects with a kernel of
one name do not link.

## cnas

Older builds divide the compilation of kernels in two: `cncc -S --bang-device-only` writes a text, and `cnas` makes an object of it.

```console
$ cncc -S -O3 --bang-mlu-arch=MLU270 --bang-device-only kernel.mlu -o kernel.s
$ cnas --device-only -O2 --mcpu x86_64 -i kernel.s -o kernel.o
$ g++ main.cpp kernel.o -I $NEUWARE_HOME/include -L $NEUWARE_HOME/lib64 -lcnrt
```

The text is the typed form of the file for people, as comments, and assembly of the host with the form as data.
A file that `cncc` did not write, or that is not whole, is refused.

| flag | meaning | what is done |
| --- | --- | --- |
"""


def page() -> str:
    """Return the page as Markdown."""
    rows = [_row(flag) for flag in sorted(FLAGS, key=_order)]
    older = ", ".join(f"`{old}` is `{name}`" for old, name in ARCHITECTURES.items())
    quiet = ", ".join(f"`{flag}`" for flag in QUIET)
    return (
        HEAD
        + "\n".join(rows)
        + f"\n\nArchitectures: {', '.join(f'`{name}`' for name in ARCHES)}; {older}; a board's name stands for its architecture.\n"
        + f"\nWarnings that the vendor's compiler does not have are switched off behind the user's flags, so that `-Wall -Werror` stays quiet: {quiet}.\n"
        + LAUNCHED
        + "".join(f"{_row(flag)}\n" for flag in ASSEMBLER_FLAGS)
    )


def _row(flag: CompilerFlag) -> str:
    return f"| `{flag.shown}` | {flag.meaning} | {flag.use.value} |"


def _order(flag: CompilerFlag) -> int:
    return list(FlagUse).index(flag.use)


if __name__ == "__main__":
    print(page(), end="")

"""The reference pages of the verbs of ``mlusim``, the flags of ``cncc`` and the debugger's commands, made from the tables in the code."""

import argparse
from collections.abc import Iterator

from mlusim.arch.catalog import ARCHES
from mlusim.cli import help as helps
from mlusim.cli.verbs import VERBS, Verb, VerbParser
from mlusim.debug.console.command import GROUPS, Command
from mlusim.debug.console.console import COMMANDS
from mlusim.programs.argument_forms import FORMS, SIZES
from mlusim.toolkit.cncc import QUIET, VERSION
from mlusim.toolkit.compiler import CHOICE, OLDEST
from mlusim.toolkit.flags import ARCHITECTURES, ASSEMBLER_FLAGS, FLAGS, CompilerFlag, FlagUse

# -- the command line -------------------------------------------------------------------------------

COMMAND_LINE = """# Command line

Made from the program's own parsers; `mlusim VERB --help-all` says the same of one verb.

Exit codes: 0 clean; 1 findings, failed accuracy, a regression or a plan that does not fit; 2 usage; 3 a fault in the simulated
machine; 130 interrupted.
Errors are one sentence on standard error.
With `--json`, standard output holds one JSON document and nothing else.
Long work shows progress on standard error when it is a terminal, `demo` elsewhere too; `NO_COLOR` is honoured.
"""
COMPLETION = """## The tab key

With the extra `completion`, a shell completes verbs, options, operators, boards, checkers and intrinsics, the cases of an operator or
of a file of cases, and of a BANG C file its kernels and their arguments:

```console
eval "$(register-python-argcomplete mlusim)"                 # bash, zsh
register-python-argcomplete --shell fish mlusim | source     # fish
```
"""


def command_line() -> str:
    """Return the page of the command line, from its parsers, as Markdown."""
    return "\n".join(
        [COMMAND_LINE, COMPLETION, *_arguments(), *(line for verb in VERBS for line in _verb(verb))]
    )


def _arguments() -> Iterator[str]:
    yield "## Arguments of a kernel\n"
    yield "What `--arg NAME=VALUE` takes, in every verb that has it.\n"
    yield "| value | meaning | example |"
    yield "| --- | --- | --- |"
    for form in FORMS:
        yield f"| `{form.spelling}` | {form.meaning} | `--arg {form.example}` |"
    yield f"\n{SIZES}\nWhat is drawn depends on `--seed` and on the argument's name alone.\n"


def _verb(verb: Verb) -> Iterator[str]:
    parser = VerbParser(prog=f"mlusim {verb.name}")
    verb.add_arguments(parser)
    yield f"## mlusim {verb.name}\n"
    yield f"{verb.summary[0].upper()}{verb.summary[1:]}.\n"
    yield "| | argument | meaning |"
    yield "| --- | --- | --- |"
    for title, actions in {"": helps.words_of(parser), **helps.grouped(parser)}.items():
        for at, action in enumerate(actions):
            meaning = (action.help or "").replace("%(default)s", str(action.default))
            cells = (
                title * (at == 0),
                f"`{_spelling(action)}`",
                meaning.replace("%%", "%").replace("|", "\\|"),
            )
            yield f"| {' | '.join(cells)} |"
    yield ""
    if parser.epilog:
        yield f"```console\n{parser.epilog.strip()}\n```\n"


def _spelling(action: argparse.Action) -> str:
    value = (
        ""
        if action.nargs == 0
        else action.metavar or (action.dest if not action.option_strings else action.dest.upper())
    )
    if isinstance(value, tuple):
        value = " ".join(value)
    many = " ..." if action.nargs in ("*", "+") else ""
    return " ".join(part for part in (", ".join(action.option_strings), f"{value}{many}") if part).replace(
        "|", "\\|"
    )


# -- cncc -------------------------------------------------------------------------------------------

CNCC = f"""# cncc

Made from the driver's own table.

`cncc` of a [toolkit folder](../how-to/your-project.md) compiles `.mlu` files and plain C and C++, and links programs and libraries.
It answers `--version` as the vendor's compiler {VERSION} does.
Host code is compiled by clang in its CUDA mode: the one that `{CHOICE}` names, a `clang++` from {OLDEST} on that is found on the `PATH`,
or the one in the `ziglang` wheel (the extra `native`).
Device code goes through mlusim's front end at the same time; its typed form is embedded in the object as data, once for each
architecture that is named, or for that of the folder's board.
A program therefore runs where its sources are gone; where they are, every tool shows their lines.

If a kernel, or a function of the device that other files may call, does not translate, that is an error with its line and a caret, and no object
is written. With `--mlusim-untranslated` it is a warning, and a launch of such a kernel is an error of its queue. What no kernel needs is a warning.
The kernels of an object are compared with those that clang has made host code of, so that none is missing when it is launched. One that is
there for the first architecture and not for another is a warning.
Errors of the source are clang's own.

The vendor's flags, older spellings among them, and those of clang's that the driver looks at; every other flag goes to clang as it
stands. `@FILE` stands for the flags in a file.
A flag of the vendor's that the table does not have is refused.

| flag | meaning | what is done |
| --- | --- | --- |
"""

LAUNCHED = """
An architecture that no board here has is left out with a warning if the command names another one, too; alone, it is an error.

Some flags need a library that comes with the compiler of the host. The `ziglang` wheel has none of these libraries:

| flag | without a library of clang's own |
| --- | --- |
| `-fsanitize=address`, `undefined`, `leak` | GCC's library is linked, if the machine has it |
| `-fsanitize=thread`, `memory`; `-fprofile-instr-generate`, `--coverage` | linking fails, with the names of the packages to install |
| `-fopenmp` | the same; LLVM's libomp is found in the folders of distributions |

`lib/clang/11.1.0/lib/linux/libclang_rt.profile-x86_64.a` of the folder is clang's own library for profiles, if it has one.

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


def cncc() -> str:
    """Return the page of ``cncc``'s flags, from their table, as Markdown."""
    rows = [_flag(flag) for flag in sorted(FLAGS, key=_order)]
    older = ", ".join(f"`{old}` is `{name}`" for old, name in ARCHITECTURES.items())
    quiet = ", ".join(f"`{flag}`" for flag in QUIET)
    return (
        CNCC
        + "\n".join(rows)
        + f"\n\nArchitectures: {', '.join(f'`{name}`' for name in ARCHES)}; {older}; a board's name stands for its architecture.\n"
        + f"\nWarnings that the vendor's compiler does not have are switched off behind the user's flags, so that `-Wall -Werror` stays quiet: {quiet}.\n"
        + LAUNCHED
        + "".join(f"{_flag(flag)}\n" for flag in ASSEMBLER_FLAGS)
    )


def _flag(flag: CompilerFlag) -> str:
    return f"| `{flag.shown}` | {flag.meaning} | {flag.use.value} |"


def _order(flag: CompilerFlag) -> int:
    return list(FlagUse).index(flag.use)


# -- the debugger -----------------------------------------------------------------------------------

DEBUGGER = """# The debugger's commands

Made from the debugger's own table; `help` shows the same.

`mlusim debug OP` debugs a case of an operator, `mlusim debug SCRIPT.py` any script that launches kernels;
[the command line](command-line.md) has the options.
A command may be shortened as long as it stays unique, and an empty line repeats a step.
`tab` completes commands, functions, intrinsics, tasks, regions and variables.
In Python the same table is `mlusim.debug.Console(session).execute(line)`; the session is
`mlusim.debug.DebugSession(program)`, where *program* is a function that takes observers and hands them to its launches.
"""


def debugger() -> str:
    """Return the page of the debugger's commands, from their table, as Markdown."""
    return "\n".join([DEBUGGER, *(line for group in GROUPS for line in _group(group))])


def _group(group: str) -> Iterator[str]:
    yield f"## {group[0].upper()}{group[1:]}\n"
    yield "| command | short | does |"
    yield "| --- | --- | --- |"
    rows = [command for command in COMMANDS if command.group == group]
    for command in rows:
        short = ", ".join(f"`{alias}`" for alias in command.aliases)
        spelling = " ".join(part for part in (command.name, command.usage) if part).replace("|", "\\|")
        yield f"| `{spelling}` | {short} | {command.summary.replace('|', chr(92) + '|')} |"
    yield ""
    for command in rows:
        yield from _details(command)


def _details(command: Command) -> Iterator[str]:
    if command.details:
        yield f"`{command.name}`:\n"
        yield f"```text\n{command.details}\n```\n"

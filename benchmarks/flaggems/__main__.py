"""``python -m benchmarks flaggems CHECKOUT``: the kernels for the card of the public Triton library, reached through its own tests on PyTorch's device.

CHECKOUT is a checkout of FlagGems, whose kernels and tests run unchanged, in its quick mode, beside references on the
CPU.  Nothing of it is stored here.  For each kernel that a test calls, the page says whether it is translated, loaded
and run, and whether the test is right.
"""

import argparse
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import chain, pairwise
from pathlib import Path

from attrs import Factory, asdict, define

from benchmarks.bounded import Child
from benchmarks.pages import put_between
from mlusim.arch.catalog import find_board
from mlusim.errors import UsageError
from mlusim.toolkit import folder

CHILD = Path(__file__).with_name("child.py")
BACK_END = Path("src/flag_gems/runtime/backend/_cambricon")
LEAST = 0.7
"""The share of the files in the second half of the alphabet that must be translated."""
STEPS = ("called", "translated", "loaded", "ran")
PAGE = Path(__file__).parent.parent / "flaggems.md"
BEGIN, END = "<!-- begin: python -m benchmarks flaggems --page -->\n", "<!-- end -->\n"
OTHERS = {
    "bitwise_and": r"bitwise_and_", "bitwise_or": r"bitwise_or_", "diagonal": r"diagonal_", "to": r"to_copy|copy$", "where": r"where_",
    "mish_backward": r"mish", "scatter_add_": r"scatter", "attention": r"scaled_dot_product", "fused_moe": r"moe",
    "embedding_dense_backward": r"embedding", "max_pool2d_with_indices": r"max_pool2d", "max_pool3d_with_indices": r"max_pool3d",
    "upsample_bicubic2d_aa_backward": r"upsample_bicubic2d", "flash_kernel": r"flash_att",
}  # fmt: skip
"""The test files of sources without a test file of their own name."""


@define
class Found:
    """The results of one run of the tests: the steps of kernels with reasons, by file and name; and the outcomes of tests, by file."""

    kernels: dict[str, dict[str, dict[str, str]]] = Factory(dict)
    tests: dict[str, dict[str, list[str]]] = Factory(dict)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the tests and print the tables; return 1 if fewer files are translated than must be."""
    args = _arguments(argv)
    checkout = args.checkout.resolve()
    try:
        sources = source_files(checkout)
    except UsageError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    half = sources[len(sources) // 2 :]
    wanted = half if args.half else sources
    tests = {
        name: files_of_tests(checkout, name)
        for name in wanted
        if not args.only or Path(name).stem in args.only
    }
    toolkit = args.cache.resolve() / "toolkit"
    folder.make(toolkit, find_board(args.board))
    found = Found(**json.loads(args.results.read_text())) if args.results.is_file() else Found()
    missing = [test for test in dict.fromkeys(chain.from_iterable(tests.values())) if test not in found.tests]
    while missing:
        done = run(checkout, toolkit, args, missing[: args.batch], found)
        missing = [test for test in missing if test not in done]
    own = {
        name for name in sources if "triton.jit" in (checkout / BACK_END / name).read_text(encoding="utf-8")
    }
    shown = table(found, {name: files_of_tests(checkout, name) for name in sources}, set(half), own)
    if args.page:
        put_between(PAGE, shown, BEGIN, END)
    print(shown)
    translated, files = share(found, half)
    return int(translated < LEAST * files)


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks flaggems", description=__doc__)
    parser.add_argument("checkout", type=Path, help="a checkout of FlagGems")
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME", help="these files, such as softmax")
    parser.add_argument("--half", action="store_true", help="the second half of the alphabet alone")
    parser.add_argument("--tests", type=int, default=4, help="the first tests of a file (default: 4)")
    parser.add_argument("--timeout", type=float, default=20, help="seconds of a test (default: 20)")
    parser.add_argument(
        "--configs",
        type=int,
        default=4,
        help="configurations that fit of those that its tuner tries (default: 4)",
    )
    parser.add_argument("--batch", type=int, default=20, help="files of tests in a process (default: 20)")
    parser.add_argument("--board", default="MLU590-H8", help="the board (default: MLU590-H8)")
    parser.add_argument("--engine", default="native", help="the engine (default: native)")
    parser.add_argument(
        "--cache", type=Path, default=Path("build/flaggems"), help="the toolkit folder is kept here"
    )
    parser.add_argument(
        "--results",
        type=Path,
        default=Path("build/flaggems.json"),
        help="what was found is kept here, and what is missing run",
    )
    parser.add_argument("--page", action="store_true", help="put the tables into benchmarks/flaggems.md")
    return parser.parse_args(argv)


def source_files(checkout: Path) -> list[str]:
    """Return the files of the back end in alphabetical order, ``fused/`` first.  Raises `UsageError` if there are none."""
    root = checkout / BACK_END
    found = sorted(p.relative_to(root).as_posix() for d in ("fused", "ops") for p in (root / d).rglob("*.py"))
    found = [name for name in found if not name.endswith("__init__.py")]
    if not found:
        raise UsageError(f"{root} has no kernels; give a checkout of FlagGems")
    return found


def files_of_tests(checkout: Path, source: str) -> list[str]:
    """Return the test files that have the name of *source*."""
    stem = Path(source).stem
    found = sorted((checkout / "tests").rglob("test_*.py"))
    named = [path for path in found if _plain(path.stem.removeprefix("test_")) == _plain(stem)]
    if not named:
        named = [
            path
            for path in found
            if stem in OTHERS and re.match(OTHERS[stem], path.stem.removeprefix("test_").strip("_"))
        ]
    return [path.relative_to(checkout).as_posix() for path in named]


def _plain(name: str) -> str:
    return name.replace("_", "")


def run(
    checkout: Path, toolkit: Path, args: argparse.Namespace, files: Sequence[str], found: Found
) -> set[str]:
    """Run *files* of tests in one process and record its output in *found*; return the files that are done."""
    known = {name: value for name, value in os.environ.items() if not name.startswith("MLUSIM_")}
    environment = known | {
        "NEUWARE_HOME": str(toolkit), "PYTHONPATH": f"{toolkit / 'python'}:{checkout / 'src'}:{os.environ.get('PYTHONPATH', '')}", "PATH": f"{toolkit / 'bin'}:{os.environ['PATH']}",
        "MLUSIM_BOARD": args.board, "MLUSIM_ENGINE": args.engine, "GEMS_VENDOR": "cambricon", "FLAGGEMS_CACHE_DIR": str(args.cache.resolve() / "gems"),
    }  # fmt: skip
    numbers = [str(number) for number in (args.tests, args.timeout, args.configs)]
    known_tests = [f"{file}:{len(found.tests.get(file, ()))}" for file in files]
    child = Child(CHILD, [str(checkout), *numbers, *known_tests], environment, checkout, args.timeout)
    done, now, running = set[str](), files[0], ""
    for kind, *words in child.told():
        if kind == "begin":
            now = words[0]
            found.tests.setdefault(now, {})
        elif kind == "kernel":
            file, name, step, reason = words
            found.kernels.setdefault(file, {}).setdefault(name, {})[step] = reason
        elif kind == "test":
            running = "" if words[1:] else words[0]
            found.tests[now][words[0].partition("::")[2]] = words[1:]
        else:
            done.add(words[0])
            _keep(args.results, found, words[0])
    if now not in done:  # the process ended during a test, after which the file continues, or between tests
        found.tests.setdefault(now, {})[running.partition("::")[2] or "collection"] = [*child.end]
        done |= set() if running else {now}
        _keep(args.results, found, now)
    return done


def _keep(results: Path, found: Found, file: str) -> None:
    """Write everything in *found*, and print the outcomes of the tests of *file*."""
    results.write_text(json.dumps(asdict(found), indent=1))
    outcomes = Counter(outcome for outcome, *_ in found.tests[file].values())
    print(f"{file}: {dict(outcomes)}", file=sys.stderr, flush=True)


# -- the page ------------------------------------------------------------------------------------------


def has_come(steps: dict[str, str], step: str) -> bool:
    """Return whether a kernel has reached *step*: a later step counts if another file's call led to it, because Triton cached the kernel."""
    return any(later in steps for later in STEPS[STEPS.index(step) :])


def state(kernels: dict[str, dict[str, str]]) -> str:
    """Return the last step that all called kernels of a file have reached."""
    for before, step in pairwise(STEPS):
        if not all(has_come(steps, step) for steps in kernels.values()):
            return before
    return STEPS[-1]


def share(found: Found, files: Sequence[str]) -> tuple[int, int]:
    """Return how many of *files* are translated, and how many there are."""
    called = [found.kernels[name] for name in files if name in found.kernels]
    return sum(state(kernels) != "called" for kernels in called), len(files)


def table(found: Found, tests: dict[str, list[str]], half: set[str], own: set[str]) -> str:
    """Return the sums of both halves, and rows for everything that is not reached, not translated or not right; files in *own* have a kernel."""
    parts = {
        "first half": [n for n in tests if n not in half],
        "second half": [n for n in tests if n in half],
        "all": [*tests],
    }
    return "\n".join(
        [
            "| files | in all | that have a kernel | with one that a test calls | translated | loaded | run | all tests right | right, but for late tests |",
            "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
            *(_sums(found, tests, word, names, own) for word, names in parts.items()),
            *_kernels(found),
            *_unreached(found, tests, half, own),
            *_outcomes(found),
            "",
        ]
    )


def _sums(found: Found, tests: dict[str, list[str]], word: str, names: Sequence[str], own: set[str]) -> str:
    known = [name for name in names if name in found.kernels]
    at = Counter(state(found.kernels[name]) for name in known)
    reached = [sum(at[step] for step in STEPS[k:]) for k in range(1, 4)]
    ran = [name for name in known if state(found.kernels[name]) == "ran"]
    right = sum(_right(found, tests[name]) for name in ran)
    counts = [len(names), len(own & {*names}), len(known), *reached, right]
    counts.append(sum(_right(found, tests[name], {"late"}) for name in ran) - right)
    return f"| {word} | {' | '.join(map(str, counts))} |"


def _kernels(found: Found) -> Iterator[str]:
    named = [
        (f, name, steps) for f, all_of in sorted(found.kernels.items()) for name, steps in all_of.items()
    ]
    yield f"\nKernels: {', '.join(f'{sum(has_come(steps, s) for _, _, steps in named)} {s}' for s in STEPS)}.\n"
    yield "| file | kernel | is no further than | since |\n| --- | --- | --- | --- |"
    for file, name, steps in named:
        if not has_come(steps, "ran"):
            reason = steps.get("refused") or steps.get("too large", "its test ended before")
            yield f"| {file} | {name} | {state({name: steps})} | {_shown(reason)} |"


def _unreached(found: Found, tests: dict[str, list[str]], half: set[str], own: set[str]) -> Iterator[str]:
    """Yield a row for each file of the second half of which no kernel was called."""
    yield "\n| file of the second half | is not reached, since |\n| --- | --- |"
    for name, files in tests.items():
        if name in half and name not in found.kernels:
            outcomes = Counter(o for file in files for o, *_ in found.tests.get(file, {}).values())
            ended = ", ".join(f"{number} {outcome}" for outcome, number in sorted(outcomes.items()))
            calls = f"its tests call none of its kernels: {ended or 'none ran'}"
            yield f"| {name} | {calls if name in own else 'it has no kernel'} |"


def _outcomes(found: Found) -> Iterator[str]:
    outcomes = Counter(outcome for file in found.tests.values() for outcome, *_ in file.values())
    yield f"\nTests: {', '.join(f'{n} {o}' for o, n in sorted(outcomes.items()))}.\n"
    right = [Path(file).stem.removeprefix("test_") for file in sorted(found.tests) if _right(found, [file])]
    yield f"Operators whose tests that ran all passed, on PyTorch's device and unchanged, {len(right)}: {', '.join(f'`{n}`' for n in right)}.\n"
    yield "| test | outcome | reason |\n| --- | --- | --- |"
    for file, ended in sorted(found.tests.items()):
        for name, (outcome, *why) in ended.items():
            if outcome not in {"passed", "skipped"}:
                yield f"| {Path(file).stem}: {name} | {outcome} | {_shown(' '.join(why))} |"


def _right(found: Found, files: Sequence[str], permitted: Collection[str] = ()) -> bool:
    """Return whether tests of *files* have passed, or ended in what is *permitted*, and none otherwise."""
    outcomes = {outcome for file in files for outcome, *_ in found.tests.get(file, {}).values()}
    return not outcomes.isdisjoint({"passed", *permitted}) and outcomes <= {"passed", "skipped", *permitted}


def _shown(reason: str) -> str:
    """Return *reason* as a cell of a table, without paths and addresses."""
    plain = re.sub(r"(?:/[\w.+-]+)+/", "", re.sub(r"\b0x[0-9a-f]+\b", "0x...", reason))
    return plain.replace("|", "/")[:200]


if __name__ == "__main__":
    sys.exit(main())

"""``mlusim run FILE.mlu``: one kernel of BANG C sources with arguments from the command line."""

import argparse
import importlib
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import frozen
from rich.text import Text

from mlusim.cli.exits import CLEAN, FINDINGS
from mlusim.cli.plain_text import wrote
from mlusim.cli.show import emit, output
from mlusim.errors import UsageError, said
from mlusim.files.writing import write_arrays
from mlusim.observe.every_step import EveryStep
from mlusim.operators.accuracy import Accuracy, judge
from mlusim.operators.spec import Thresholds
from mlusim.report.launches import launch_facts, reached, write_launches
from mlusim.report.tables.lines import NOTE, launch_lines

if TYPE_CHECKING:
    from mlusim.programs.kernel_call import Called, KernelCall

Array = np.ndarray[Any, Any]
CLOSE = Thresholds(diff1=3e-3, diff2=3e-3)  # the vendor's usual ones


@frozen
class Compared:
    """An output beside its reference; ``got`` and ``expected`` are the elements at the accuracy's worst index."""

    accuracy: Accuracy
    got: Any = None
    expected: Any = None

    @property
    def worst(self) -> str:
        """The largest error as a phrase; empty where every value is equal."""
        if self.accuracy.worst_index is None:
            return ""
        place = ", ".join(map(str, self.accuracy.worst_index))
        return f"worst at [{place}]: {self.got:.6g}, the reference has {self.expected:.6g}"

    @property
    def told(self) -> str:
        """Errors and verdict as a phrase; the largest error of what failed."""
        a = self.accuracy
        line = f"diff1 {a.diff1:.3g}, diff2 {a.diff2:.3g}, {'passed' if a.passed else 'FAILED'}"
        return f"{line}; {self.worst}" if not a.passed and self.worst else line

    def to_json(self) -> dict[str, Any]:
        """Errors, verdict and the worst element."""
        a = self.accuracy
        index = None if a.worst_index is None else list(a.worst_index)
        worst = {"index": index, "got": self.got, "expected": self.expected}
        return {"diff1": a.diff1, "diff2": a.diff2, "diff3": a.diff3, "passed": a.passed, "worst": worst}


def run(args: argparse.Namespace, call: "KernelCall") -> int:
    """Launch, show, compare, save; returns 1 for findings or failed accuracy."""
    reference = reference_of(args.reference)
    done = call.run([EveryStep()] if args.trace or args.lines else [])
    judged = {} if reference is None else compared_with(reference, call, done)
    passed = all(one.accuracy.passed for one in judged.values())
    if args.json:
        emit(_document(call, done, judged))
    else:
        _show(done, judged)
        if args.lines:
            output().print("", launch_lines(done.launch), Text(NOTE, style="dim"), sep="\n")
    try:
        if args.save:
            write_arrays(args.save, dict(done.outputs), keep=True)
            wrote("outputs", args.save)
    finally:  # neither file costs the other
        if args.trace:
            write_launches(args.trace, [done.launch])
            wrote("timeline", args.trace)
    return CLEAN if passed and not done.findings else FINDINGS


def reference_of(name: str | None) -> Any:
    """The function that ``module:function`` names; modules are looked for here, too.  None without a name."""
    if name is None:
        return None
    module, colon, function = name.partition(":")
    if not colon:
        raise UsageError(f"--reference {name!r} names no function; write module:function")
    sys.path.insert(0, str(Path.cwd()))
    try:
        return getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise UsageError(f"--reference {name} is not found: {error}") from None
    finally:
        sys.path.pop(0)


def compared_with(reference: Any, call: "KernelCall", done: "Called") -> dict[str, Compared]:
    """Compare what came back with ``reference(**inputs and numbers)``: a mapping by name, or the one output.

    Raises `UsageError` where the reference cannot be called so, or gives something that does not come back.
    """
    given: dict[str, Any] = {name.removeprefix("input."): a for name, a in call.arrays().items()}
    for name, text in call.arguments.items():
        if name not in given and not text.startswith("out:"):
            given[name] = None if text in ("null", "nullptr") else _plain(text)
    try:
        expected = reference(**given)
    except Exception as error:
        raise UsageError(
            f"the reference, called with {', '.join(f'{name}=' for name in given)}, ended with {type(error).__name__}: "
            f"{said(error)}; it takes what goes in, and returns what comes back by name"
        ) from error
    if not isinstance(expected, Mapping):
        if len(done.outputs) != 1:
            raise UsageError(
                "the reference gives one array and several come back; let it return a dict by name"
            )
        expected = {next(iter(done.outputs)): expected}
    unknown = next((name for name in expected if name not in done.outputs), None)
    if unknown is not None:
        legal = ", ".join(done.outputs) or "nothing"
        raise UsageError(f"the reference gives {unknown!r}, which does not come back; {legal} does")
    return {name: _compared(name, done.outputs[name], np.asarray(array)) for name, array in expected.items()}


def _compared(name: str, output: Array, expected: Array) -> Compared:
    if expected.size != output.size or expected.dtype.kind not in "fiub":
        raise UsageError(
            f"the reference gives {expected.dtype}{list(expected.shape)} for {name}, and {output.dtype}"
            f"{list(output.shape)} comes back; legal: numbers, {output.size} of them"
        )
    expected = expected.reshape(output.shape)
    accuracy = judge(output, expected, CLOSE)
    worst = accuracy.worst_index
    if worst is None:
        return Compared(accuracy)
    return Compared(accuracy, output[worst].item(), expected[worst].item())


def _plain(text: str) -> float:
    try:
        return int(text, 0)
    except ValueError:
        return float(text)


def _document(call: "KernelCall", done: "Called", judged: Mapping[str, Compared]) -> dict[str, Any]:
    launch = done.launch
    return {
        "program": call.sources.paths[0],
        "kernel": launch.kernel,
        "board": launch.board,
        "accuracy": {name: one.to_json() for name, one in judged.items()},
        "launches": [launch_facts(launch)],
        "instructions": dict(launch.instructions),
        "traffic": dict(launch.traffic),
        "memory": {n: {"capacity": u.capacity, "high_water": u.high_water} for n, u in launch.memory.items()},
        "findings": [f.to_json() for f in done.findings],
        "outputs": {n: {"shape": list(a.shape), "dtype": str(a.dtype)} for n, a in done.outputs.items()},
        "printed": list(launch.printed),
    }


def _show(done: "Called", judged: Mapping[str, Compared]) -> None:
    console, launch = output(), done.launch
    dim = ",".join(map(str, launch.dim))
    console.print(
        Text(
            f"{launch.kernel} on {launch.board}, {dim} {launch.kind}: {launch.time_us:.2f} us, bound by {launch.bound}"
        ),
        soft_wrap=True,
    )
    if launch.tasks:
        console.print(Text(f"  {reached(launch)}", style="dim"), soft_wrap=True)
    for line in launch.printed:
        console.print(Text(line.removesuffix("\n")), soft_wrap=True)
    for name, array in done.outputs.items():
        flat = np.array2string(array.reshape(-1)[:8], separator=", ", max_line_width=500)
        console.print(
            Text(f"  {name} {array.dtype}{list(array.shape)}: {flat}{' ...' if array.size > 8 else ''}"),
            soft_wrap=True,
        )
    for name, one in judged.items():
        a = one.accuracy
        told = Text(f"  {name}: {one.told}", style="green" if a.passed else "bold red")
        console.print(told, soft_wrap=True)
    for finding in done.findings:
        console.print("", finding if hasattr(finding, "__rich_console__") else Text(str(finding)), sep="\n")

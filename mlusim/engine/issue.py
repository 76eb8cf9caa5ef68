"""The door: straight-line code for every row, through which each effect on memory passes.

`mlu_class` renders one Python method per row and policy from the row's recipe (`engine.recipes.recipe`,
`engine.recipes.render`). The messages of failed checks are written by `engine.refuse`, off the fast path.
`source_of` returns the code of a method; a debugger shows it too. The policy of a launch may wrap a method:
to record the instruction, or to skip it if it has no effect on this kind of core.
"""

import functools
import linecache
from collections.abc import Callable, Sequence
from typing import Any

from mlusim.arch.board import Arch
from mlusim.engine import copies, offsets
from mlusim.engine.arguments import either_form
from mlusim.engine.contract import IssuingMlu
from mlusim.engine.recipes import actions
from mlusim.engine.recipes.actions import LeaveOthers, Note, Nothing
from mlusim.engine.recipes.recipe import LaunchPolicy, Recipe, policies, recipe
from mlusim.engine.recipes.render import Writer
from mlusim.engine.refuse import unsupported
from mlusim.isa.declare import Intrinsic
from mlusim.isa.table import ISA
from mlusim.kernel_frames import caller
from mlusim.memory.space import DIRECTIONS, GDRAM, NRAM, SRAM, WRAM, Direction

Method = Callable[..., Any]


class Later:
    """A method that is rendered on its first look-up, and then replaces this object in its class.

    A launch uses few of the rows, and compiling all of them would take half a second.
    """

    __slots__ = ("_make", "_name", "_owner")

    def __init__(self, make: Callable[[], Method]) -> None:
        self._make = make

    def __set_name__(self, owner: type[Any], name: str) -> None:
        self._owner, self._name = owner, name

    def __get__(self, mlu: object, owner: object = None) -> Any:
        method = self._make()
        setattr(self._owner, self._name, method)
        return getattr(self._owner if mlu is None else mlu, self._name)


@functools.cache
def mlu_class(base: Any, policy: LaunchPolicy) -> type[Any]:
    """Return the `Mlu` of a launch with *policy*: the *base* class of the machine with one method per intrinsic."""
    methods: dict[str, Any] = {"__slots__": (), "__doc__": base.__doc__}
    # The wrappers of a policy wrap the plain methods, which launches share.
    plain = policies(policy.arch, False, False)[policy.memory_core]
    inner = None if policy is plain else mlu_class(base, plain)
    for number, row in enumerate(ISA.values()):
        methods[row.name] = Later(functools.partial(_method_of, row, number, policy, inner))
    return type(f"Mlu_{policy.arch.name}", (base,), methods)


def _method_of(row: Intrinsic, number: int, policy: LaunchPolicy, inner: type[Any] | None) -> Method:
    """Return the method of *row*; *inner* is the class with the plain methods, without wrappers of the launch's policy."""
    row_recipe = recipe(row, number, policy)
    if inner is not None:
        return _outer(row_recipe, getattr(inner, row.name))
    method = _method(row_recipe)
    if row.overload is None:
        return method
    longer = row.overload[0]
    return either_form(row, method, _method(recipe(ISA[longer], list(ISA).index(longer), policy)))


def source_of(row: Intrinsic, arch: Arch) -> str:
    """Return the generated code of *row* on *arch*, for reading."""
    return _text(Writer(recipe(row, 0, LaunchPolicy(arch))))


def _text(writer: Writer) -> str:
    return "\n".join(writer.lines()) + "\n"


def _outer(row_recipe: Recipe, method: Method) -> Method:
    """Return *method* in the wrappers of the launch's policy; the last action is applied first, so that the first action runs first."""
    for action in reversed(row_recipe.actions):
        match action:
            case actions.Note():
                method = noted(method, row_recipe.number, action)
            case actions.LeaveOthers():
                method = copies_of_one_kind(row_recipe.row, method, action)
            case actions.Nothing():
                method = nothing(row_recipe.row, action)
    return method


def _method(row_recipe: Recipe) -> Method:
    """Return the method of a recipe without the wrappers of a launch's policy."""
    row, arch = row_recipe.row, row_recipe.policy.arch
    if isinstance(row_recipe.actions[0], actions.Refuse):  # the same as its text, without compiling it
        return _refused(row)
    writer = Writer(row_recipe)
    text = _text(writer)
    filename = f"<mlusim {arch.name} {row.name}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    names = {**copies.NAMES, **offsets.NAMES, **writer.names()}
    exec(compile(text, filename, "exec"), names)  # noqa: S102 - the text is generated from the row above
    method: Method = names[row.name]
    method.__doc__ = row.doc
    return method


def _refused(row: Intrinsic) -> Method:
    def refused(mlu: IssuingMlu, *_: object, **__: object) -> None:
        raise unsupported(mlu, row)

    return refused


# -- wrappers of methods, by the policy of a launch ----------------------------------------------------

# The vendor compiles one source for both kinds of core. Kernels execute vector instructions, copies of NRAM
# and scalar code on a memory core without a guard, and copies between GDRAM and SRAM on all cores of a union
# although only the memory core performs them. The BANG C manual says which kind of core executes each copy
# direction; that other instructions have no effect on a memory core is inferred from kernels that give right
# results with this rule.


def noted(method: Callable[..., Any], number: int, action: Note) -> Callable[..., Any]:
    """Return *method*, the intrinsic of row *number*, in a wrapper that logs the time and place of each call in the core."""
    place = action.lanes

    @functools.wraps(method)
    def noting(mlu: IssuingMlu, *arguments: Any, **named: Any) -> Any:
        lanes = arguments[place] if 0 <= place < len(arguments) else 0
        if lanes.__class__ is not int:
            # A negative value stands for a direction, any other for a number of lanes.
            lanes = -1 - lanes.value if lanes.__class__ is Direction else 0
        mlu.core.log.begin(caller(1), number, lanes)
        return method(mlu, *arguments, **named)

    return noting


def nothing(row: Intrinsic, action: Nothing) -> Callable[..., Any]:
    """Return a method for a row that has no effect on a memory core; it returns 0 in place of a result."""

    def nothing(mlu: IssuingMlu, *_: object, **__: object) -> Any:
        mlu.core.leave_out(row)
        return action.result

    nothing.__name__ = row.name
    return nothing


def copies_of_one_kind(
    row: Intrinsic, method: Callable[..., None], action: LeaveOthers
) -> Callable[..., None]:
    """Return the copy *method* in a wrapper that skips the directions which the other kind of core executes."""
    idle = frozenset(d for d in DIRECTIONS if left_to_others(d, memory_core=action.memory_core))

    def copy(mlu: IssuingMlu, dst: object, src: object, size: int, direction: Direction, *shape: int) -> None:
        # The method itself refuses a value that is not a direction.
        if direction.__class__ is not Direction or direction not in idle:
            if shape:
                method(mlu, dst, src, size, direction, *shape)
            else:
                method(mlu, dst, src, size, direction)
        elif action.memory_core:
            mlu.core.leave_out(row)

    copy.__name__ = method.__name__
    return copy


def has_no_effect(row: Intrinsic, policy: LaunchPolicy, arguments: Sequence[Any]) -> bool:
    """Return whether a call of *row* with *arguments* has no effect under *policy*."""
    if not policy.compiled:
        return False
    if row.form == "copy":
        direction = arguments[3] if len(arguments) > 3 else None
        return isinstance(direction, Direction) and left_to_others(direction, memory_core=policy.memory_core)
    return policy.memory_core and not row.memory_core


def left_to_others(direction: Direction, *, memory_core: bool) -> bool:
    """Return whether copies of *direction* are executed by the other kind of core."""
    ends = {direction.src, direction.dst}
    return bool(ends & {NRAM, WRAM}) if memory_core else ends == {GDRAM, SRAM}  # decision 0016

"""The rules that rows can demand; each says in one sentence what is wrong and what is legal."""

from mlusim.isa.declare import OperandRule


def multiple_of(name: str, divisor: str | int, generations: tuple[int, ...] = ()) -> OperandRule:
    """*name* must be a multiple of *divisor* (a number or a parameter)."""
    shown = f"{divisor} ({{{divisor}}})" if isinstance(divisor, str) else str(divisor)
    return OperandRule(
        # Of a divisor of 0 another rule speaks: this one must not divide by it.
        f"{name} % {divisor} != 0"
        if not isinstance(divisor, str)
        else f"{divisor} > 0 and {name} % {divisor} != 0",
        f"{name} = {{{name}}} is no multiple of {shown}",
        f"multiples of {divisor}",
        generations,
    )


def between(name: str, low: int, high: int, generations: tuple[int, ...] = ()) -> OperandRule:
    """*name* must lie in [low, high]."""
    return OperandRule(
        f"not {low} <= {name} <= {high}",
        f"{name} = {{{name}}} is out of range",
        f"{low} to {high}",
        generations,
    )


def at_least(name: str, low: int) -> OperandRule:
    """*name* must be *low* or more."""
    return OperandRule(f"{name} < {low}", f"{name} = {{{name}}} is too small", f"{low} or more")


def demand(fails: str, sentence: str, legal: str, generations: tuple[int, ...] = ()) -> OperandRule:
    """Make any other rule: an expression that is true where it is broken, and its sentence."""
    return OperandRule(fails, sentence, legal, generations)

"""Numbers as people read them: with the word for what they count, as bytes, shares, factors and microseconds."""

import re


def counted(number: int, noun: str, many: str | None = None) -> str:
    """``1 finding``, ``2,000 findings``; *many* is the plural if it is not *noun* with an ``s``."""
    return f"{number:,} {plural(number, noun, many)}"


def plural(number: float, noun: str, many: str | None = None) -> str:
    """Return *noun* if *number* is 1, else *many*, which defaults to *noun* with an ``s``."""
    return noun if number == 1 else many or noun + "s"


def with_article(noun: str) -> str:
    """``an int32``, ``a float``, ``a uint8``: return *noun* after the article that its sound takes."""
    sounds_as_consonant = noun.lower().startswith(("uint", "uni", "use", "one"))
    vowel = noun[:1].lower() in ("a", "e", "i", "o", "u") and not sounds_as_consonant
    return f"{'an' if vowel else 'a'} {noun}"


_UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
_POWERS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def size(nbytes: int) -> str:
    """Return the bytes with a unit: "768 B", "1.50 KiB", "124.8 MiB"."""
    for unit, name in _UNITS:
        if nbytes >= unit:
            return f"{_three(nbytes / unit)} {name}"
    return f"{nbytes} B"


def count(number: float) -> str:
    """Return a number with a power of ten: "950", "32.7M"."""
    for power, name in _POWERS:
        if number >= power:
            return f"{_three(number / power)}{name}"
    return f"{number:g}"


def brief(quantity: str) -> str:
    """Return a quantity in words without the fraction of three digits and more: "124.8 MiB" is "125 MiB"."""
    return re.sub(r"^\d{3,}\.\d+", lambda match: f"{float(match[0]):.0f}", quantity)


def share(fraction: float) -> str:
    """Return a fraction as a percentage with one decimal."""
    return f"{100 * fraction:.1f}%"


def percent(fraction: float) -> str:
    """Return a fraction as a percentage for a sentence: two digits, "7.4%", "74%", "less than 0.1%"."""
    if 0 < fraction < 0.001:
        return "less than 0.1%"
    return f"{100 * fraction:.1f}%" if fraction < 0.0995 and fraction else f"{100 * fraction:.0f}%"


def changed(fraction: float) -> str:
    """Return a change as a percentage with its sign: "+10.2%"; "same" for none."""
    return f"{100 * fraction:+.1f}%" if fraction else "same"


def gain(factor: float | None) -> str:
    """Return how many times as fast something is: "1.25x"; a dash for none."""
    return "-" if factor is None else f"{factor:.2f}x"


def times(factor: float | None) -> str:
    """Return a factor: "2.1x"; a dash for none."""
    if factor is None:
        return "-"
    return f"{factor:.1f}x" if factor < 100 else f"{factor:.0f}x"


def whole(fraction: float | None) -> str:
    """Return a fraction as a percentage without decimals; a dash for none."""
    return "-" if fraction is None else f"{100 * fraction:.0f}%"


def band(ends: tuple[float, float] | None) -> str:
    """Return a band of microseconds; a dash where none is known."""
    return "-" if ends is None else f"{microseconds(ends[0])}-{microseconds(ends[1])}"


def microseconds(time_us: float) -> str:
    """Return a time with one decimal and thousands: "1,746.2"."""
    return f"{time_us:,.1f}"


def precise(time_us: float) -> str:
    """Return a time of one launch or candidate, with two decimals and thousands: "1,746.25"."""
    # Launches and candidates differ by less than the tenths that sums of many calls are told in.
    return f"{time_us:,.2f}"


def error(value: float | str | None) -> str:
    """Return an accuracy metric: three digits; a dash where it was not measured."""
    if value is None:
        return "-"
    return f"{value:.3g}" if isinstance(value, float | int) else value


def _three(value: float) -> str:
    """Write *value* with three digits or more, never an exponent."""
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 1000 else f"{value:.0f}"

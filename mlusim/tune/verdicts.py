"""The verdicts on a candidate: it fits and is right, or the kind of reason for which it is out."""

OK, FAULT, LIMIT, OVERLAP, WRONG, UNTRANSLATED, REFUSED, DIED = (
    "ok", "fault", "limit", "overlap", "wrong", "untranslated", "refused", "died",
)  # fmt: skip

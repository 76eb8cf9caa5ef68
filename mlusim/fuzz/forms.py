"""What ``--arg`` of ``mlusim fuzz`` takes besides the forms of `mlusim.programs.argument_forms`; the parser imports it."""

REAL = "float"
REAL_FORMS = f"{REAL}:LOW..HIGH or {REAL}:LOW..HIGH:TYPE:SIZES"

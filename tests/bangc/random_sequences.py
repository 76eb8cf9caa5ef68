"""Random sequences of instructions on few places, of which many can be joined, and what comes between them."""

import random

ROWS = (
    "__bang_add({d}, {s}, {t}, {n});",
    "__bang_sub({d}, {s}, {t}, {n});",
    "__bang_mul({d}, {s}, {t}, {n});",
    "__bang_maxequal({d}, {s}, {t}, {n});",
    "__bang_lt({d}, {s}, {t}, {n});",
    "__bang_mul_scalar({d}, {s}, {x}, {n});",
    "__bang_add_scalar({d}, {s}, {x}, {n});",
    "__bang_ge_scalar({d}, {s}, {x}, {n});",
    "__bang_bxor((int *){d}, (int *){s}, (int *){t}, {n});",
    "__bang_add((int *){d}, (int *){s}, (int *){t}, {n});",
    "__bang_mul((short *){d}, (short *){s}, (short *){t}, {n});",
    "__bang_atomic_reduce_add({g}, {s}, {n});",
    "__bang_atomic_reduce_max({g}, {s}, {n});",
    "__bang_atomic_reduce_add((int *){g}, (int *){s}, {n});",
    "__bang_atomic_reduce_add((half *){g}, (half *){s}, {n});",
)
BETWEEN = (
    "n += b & 1;",
    "*place = 2.0f;",
    "x += by;",
    "room[a] = x;",
    "by = room[b];",
    "__memcpy_async({d}, data, 256, GDRAM2NRAM);",
    "__sync();",
    "if (n > 40) {{ {row} {more} }}",
    "for (int turn = 0; turn < 3; turn++) {{ {row} {more} }}",
    "switch (m) {{ case 64: {row} {more} break; default: {more} }}",
    "both({d}, {s}, {t}, {x}, {n});",
    "{{ {row} {more} }}",
    "if (m > 60) goto done;",
)
PLACES = (
    "room",
    "room + a",
    "room + b",
    "room + n",
    "at",
    "at + 1",
    "(&room[64])",
    "(float *)((char *)room + b)",
)
RESULTS = ("out", "out + a", "out + n", "out + 4096 - b")
NUMBERS = ("x", "by", "-0.0f", "x * by", "*place", "room[3]", "(float)n", "numbers[1]", "1e-40f")
COUNTS = ("n", "n", "n", "n", "n", "n + 0", "m")
KERNEL = """\
__nram__ float room[2048];
__mlu_func__ void both(float *to, float *from, float *more, float by, int n) {{
  __bang_mul_scalar(to, from, by, n);
  __bang_add(to, to, more, n);
}}
__mlu_global__ void sequences(float *out, const float *data, int which, int a, int b, int n, int m, float x) {{
  if (__is_mpu()) return;
  float by = x, *place = &by, *at = room + a, numbers[2] = {{1.0f, x}};
  __memcpy(room, data, sizeof(room), GDRAM2NRAM);
  switch (which) {{
{cases}
  }}
  out[0] = by + x + n;
  __memcpy(out + 4096, room, sizeof(room), NRAM2GDRAM);
}}
"""


class Sequences:
    """The sequences of *seed*, cases of one kernel; with *plain*, without asynchronous copies and halves, whose NaN have bits of their own."""

    def __init__(self, seed: int, many: int, *, plain: bool = False) -> None:
        self.rng = random.Random(seed)
        self.between, self.rows = (
            [line for line in lines if not plain or ("async" not in line and "half" not in line)]
            for lines in (BETWEEN, ROWS)
        )
        self.kernel = KERNEL.format(cases="\n".join(map(self._case, range(many))))

    def _case(self, number: int) -> str:
        rng = self.rng
        places, count = [*rng.sample(PLACES, 2), "room + 1500"], rng.choice(COUNTS)
        lines = [
            self._line(rng.choice(self.between if rng.random() < 0.2 else self.rows), places, count)
            for _ in range(rng.randrange(2, 9))
        ]
        text = " ".join(lines).replace("goto done", f"goto done_{number}")
        return f"    case {number}: {{ {text} done_{number}:; break; }}"

    def _line(self, line: str, places: list[str], count: str) -> str:
        rng = self.rng
        row, more = (
            self._line(rng.choice(self.rows), places, count) if "{more}" in line else "" for _ in range(2)
        )
        n = count if rng.random() < 0.9 else rng.choice(COUNTS)
        d, s, t = (f"({rng.choice(places)})" for _ in range(3))
        if rng.random() < 0.6:  # in place, for which no overlap with other places is a fault
            s, t = d, rng.choice([d, f"({places[-1]})"])
        g = f"({rng.choice(RESULTS)})"
        return line.format(d=d, s=s, t=t, g=g, n=n, x=rng.choice(NUMBERS), row=row, more=more)

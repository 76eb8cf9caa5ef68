"""Where one stops in macros: from libclang 19 on in the lines of their bodies, before at the invocation."""

import pytest

from mlusim.bangc.parse.library import library
from mlusim.bangc.parse.nodes import SPELLS
from mlusim.bangc.parse.sources import SourceTexts, is_invocation
from mlusim.cli.main import main

SOURCE = """\
#define N 64
#define T float
#define TWICE(x) ((x) * 2)
#define TILE(dst, src, n)           \\
  do {                              \\
    T scale = TWICE(n);             \\
    __bang_add(dst, dst, src, n);   \\
    __bang_mul_scalar(dst, dst, scale, N); \\
  } while (0)
#define EACH(i, n) for (int i = 0; i < n; ++i)
#define ONES(d) __bang_write_value(d, N, 1.0f)
__nram__ float a[N], b[N];
__mlu_entry__ void K(float *x) {
  ONES(a);
  T k = N;
  EACH(i, 1) {
    TILE(a, b, N);
    k = TWICE(k) + N;
  }
  if (k > N) ONES(b);
}
"""
OUTSIDE = [14, 15, 16, 17, 18, 16, 20]
INSIDE = [14, 11, 15, 16, 17, 6, 7, 8, 18, 16, 20]


def test_stepping_stops_in_the_bodies_of_macros_and_at_their_invocations(tmp_path, capsys):
    """Constants, types and heads of loops that macros write are executed where they are used."""
    (tmp_path / "k.mlu").write_text(SOURCE)
    steps = [word for _ in range(20) for word in ("--command", "step")]
    words = ["--command", f"break {tmp_path}/k.mlu:14", "--command", "continue", *steps]

    main(["debug", str(tmp_path / "k.mlu"), "--kernel", "K", "--arg", "x=out:float32:64", *words])
    lines = [line.partition("\t")[0] for line in capsys.readouterr().out.splitlines()]

    assert [str(n) for n in (INSIDE if library().version >= SPELLS else OUTSIDE)] == [
        line for line in lines if line.isdigit()
    ]


@pytest.mark.parametrize(
    ("text", "alone"),
    [
        ("N", True),
        ("TILE (a, (b)[1], \n n)", True),
        ("""PRINT(")", ')')""", True),
        ("N + 1", False),
        ("F(a)(b)", False),
        ("EACH(i, 2) { }", False),
        ("F(a", False),
        ("T k = 2", False),
        ("", False),
    ],
)
def test_a_statement_is_in_a_macro_where_nothing_stands_behind_it(text, alone):
    """A name with or without arguments in parentheses."""
    assert alone == is_invocation(text)


def test_text_of_a_source_is_found_by_line_and_column(tmp_path):
    """Columns are those of bytes; a file that does not exist has no text."""
    (tmp_path / "k.mlu").write_text("aé TILE(x,\n  y);\n")
    texts = SourceTexts()

    assert "TILE(x,\n  y)" == texts.between(str(tmp_path / "k.mlu"), (1, 5), (2, 5))
    assert "" == texts.between(str(tmp_path / "none.mlu"), (1, 1), (1, 2))

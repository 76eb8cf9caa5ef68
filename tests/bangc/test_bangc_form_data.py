"""The form of a file as data: what is read is what was written, and nothing else is taken."""

import contextlib
import json
import random
import zlib

import pytest
from hypothesis import given, settings, strategies as st

from mlusim.arch.catalog import find_board
from mlusim.bangc import form_data
from mlusim.bangc.ir import text
from mlusim.bangc.link import File
from mlusim.bangc.parse.sources import Options
from mlusim.bangc.translate import translate

SOURCE = r"""
struct Node { Node *next; float values[3]; int n; };
union Bits { float f; int i; };
__nram__ float buffer[64];
static const float table[2] = {0.5f, INFINITY};
template <class T> __mlu_func__ T twice(T x) { return x + x; }
__mlu_func__ int sum(Node *node, int min) {
  int total = min;
  for (int i = 0; i < node->n && total < 100; i++) total += (int)twice(node->values[i % 3]);
  switch (total) { case 1: case 2: total = 5; break; default: total = -total; }
  int first[2] = {1, total};
  total += first[node->n & 1];
  Bits bits; bits.f = total ? table[0] : -0.0f;
  return bits.i + (int)fabsf(bits.f);
}
__mlu_entry__ void kernel(float *out, Node node, half factor) {
  __memcpy(buffer, out, 64 * sizeof(float), GDRAM2NRAM);
  __bang_mul_scalar(buffer, buffer, (float)factor, 64);
  do { buffer[0] += sum(&node, taskId); } while (false);
  __bang_printf("%d \"text\"\n", node.n);
  __asm__ volatile("sync;");
  __memcpy(out, buffer, 64 * sizeof(float), NRAM2GDRAM);
}
"""


@pytest.fixture(scope="module")
def translated(tmp_path_factory):
    path = tmp_path_factory.mktemp("form") / "form.mlu"
    path.write_text(SOURCE)
    return translate(str(path), Options((), (), find_board("MLU370-X4")))


@pytest.fixture
def document(translated):
    return json.loads(zlib.decompress(form_data.write(translated)))


def _data(document):
    return zlib.compress(json.dumps(document).encode())


def test_a_form_comes_back(translated):
    """What is read is the same form, renders, and is written as the same bytes."""
    content = form_data.write(translated)
    back = form_data.read(content)

    assert text.module_text(back.form) == text.module_text(translated.form)
    assert form_data.write(back) == content
    assert all(f.problem is None for f in back.form.functions.values())
    for symbol, function in back.form.functions.items():
        if function.problem is None and not function.external:
            assert File(back.form).function(symbol).code.co_name == function.name


def test_a_function_that_does_not_translate_has_its_parameters_alone(tmp_path):
    """Its problem comes back, though its variables, which it declares nowhere now, are called as Python's functions."""
    path = tmp_path / "refused.mlu"
    path.write_text("__mlu_entry__ void k(int *out, int len) { int range = len; out[0] = ({ range + 1; }); }")
    content = form_data.write(translate(str(path), Options((), (), find_board("MLU370-X4"))))

    (function,) = form_data.read(content).form.functions.values()

    assert function.problem is not None
    assert "this kind of expression (stmtexpr) is not supported" in function.problem.message
    assert function.parameters == function.locals


@pytest.mark.parametrize(
    ("kind", "field", "value"),
    [
        ("Local", "name", "x = __import__('os')"),
        ("Local", "name", "__import__"),
        ("Binary", "op", "); system(0); ("),
        ("Field", "name", "__dict__"),
        ("Call", "symbol", 'f"\n'),
        ("Call", "symbol", "f(m), abort"),
        ("Function", "symbol", "f(void), g"),
        ("Builtin", "name", "a b"),
        ("Span", "file", "a\n#include"),
        ("LibraryCall", "name", "a;b"),
        ("Function", "kind", "other"),
        ("IntrinsicCall", "row", "bang_nothing"),
    ],
)
def test_names_that_code_is_made_of_are_looked_at(document, kind, field, value):
    """A name or an operator that no translation gives is refused."""
    number = next(n for n, c in enumerate(form_data.CLASSES) if c.__name__ == kind)
    at = next(
        n for n, (name, _) in enumerate(form_data._hints(form_data.CLASSES[number]), 1) if name == field
    )
    document["strings"].append(value)
    next(row for row in document["rows"] if row[0] == number)[at] = len(document["strings"]) - 1
    with pytest.raises(form_data.DataError):
        form_data.read(_data(document))


def _rows(document, kind):
    """The numbers of the rows of a class, and where each of its values stands."""
    number = next(n for n, c in enumerate(form_data.CLASSES) if c.__name__ == kind)
    at = {name: n for n, (name, _) in enumerate(form_data._hints(form_data.CLASSES[number]), 1)}
    return [n for n, row in enumerate(document["rows"]) if row[0] == number], at


def _with(document, number, at, value):
    """The data of *document* with another value at one place."""
    rows = [*document["rows"]]
    rows[number] = [*rows[number]]
    rows[number][at] = value
    return _data({**document, "rows": rows})


def _node(document):
    """The number of the row of the structure ``Node``, and those of its members."""
    numbers, at = _rows(document, "Struct")
    (found,) = (n for n in numbers if document["strings"][document["rows"][n][at["name"]]] == "Node")
    return found, document["rows"][found][at["fields"]]


@pytest.mark.parametrize(
    ("kind", "field", "values"),
    [
        ("Struct", "size", (-8, 1, 1 << 50)),
        ("Struct", "align", (-8, 0, 3, 1 << 40)),
        ("Struct", "fields", ([],)),
        ("Field", "offset", (-4, 1 << 40)),
        ("Array", "count", (-1, 1 << 47)),
        ("Arithmetic", "size", (-4, 0, 3, 16)),
        ("Const", "value", ([1], 1 << 70)),
        ("Span", "line", (-1, 1 << 40)),
    ],
)
def test_layouts_are_looked_at(document, kind, field, values):
    """C is made of sizes, offsets and counts as they stand: none that a compiler does not give is taken."""
    numbers, at = _rows(document, kind)
    assert numbers
    for number in numbers[:4]:
        if (kind, field) == ("Struct", "fields") and not document["rows"][number][at[field]]:
            continue
        for value in values:
            with pytest.raises(form_data.DataError):
                form_data.read(_with(document, number, at[field], value))


def test_a_member_is_one_of_its_record(document):
    """One of another record would be read beyond the end."""
    numbers, at = _rows(document, "Member")
    structs, inside = _rows(document, "Struct")
    every = [document["rows"][record][inside["fields"]] for record in structs]
    assert numbers
    for number in numbers:
        own = document["rows"][number][at["field"]]
        for other in (field for fields in every if own not in fields for field in fields):
            with pytest.raises(form_data.DataError, match="no such member"):
                form_data.read(_with(document, number, at["field"], other))


def test_an_element_is_of_a_pointer(document):
    """A number that is said to have elements is refused: nothing tells their type."""
    numbers, at = _rows(document, "Element")
    constant = _rows(document, "Const")[0][0]
    assert numbers
    for number in numbers[:4]:
        with pytest.raises(form_data.DataError):
            form_data.read(_with(document, number, at["pointer"], constant))


def test_a_record_that_holds_itself_is_refused(document):
    """By a pointer it may; by value its layout would have no end."""
    node, fields = _node(document)
    _, at = _rows(document, "Field")
    for number in fields:
        with pytest.raises(form_data.DataError, match="holds itself"):
            form_data.read(_with(document, number, at["type"], node))


def test_a_list_of_more_values_than_its_array_is_refused(document):
    """The values behind its end would be stored beside it."""
    numbers, at = _rows(document, "Compose")
    assert numbers
    for number in numbers:
        values = document["rows"][number][at["values"]]
        with pytest.raises(form_data.DataError, match="too many values"):
            form_data.read(_with(document, number, at["values"], values * 9))


@given(st.data())
@settings(max_examples=20)
def test_a_record_has_one_layout(translated, data):
    """Any other size or offset than the compiler's is refused: the parts do not give it."""
    document = json.loads(zlib.decompress(form_data.write(translated)))
    kind, field = data.draw(st.sampled_from([("Struct", "size"), ("Field", "offset")]))
    numbers, at = _rows(document, kind)
    number = data.draw(st.sampled_from(numbers))
    known = document["rows"][number][at[field]]
    value = data.draw(st.integers(-(1 << 64), 1 << 64) | st.integers(-32, 32))
    if value != known:
        with pytest.raises(form_data.DataError):
            form_data.read(_with(document, number, at[field], value))


def test_a_name_of_pythons_own_has_to_be_declared(document):
    """A variable that is called as one of Python's functions, and never declared, would be that function."""
    number = next(n for n, c in enumerate(form_data.CLASSES) if c.__name__ == "Local")
    document["strings"].append("exec")
    locals_ = [row for row in document["rows"] if row[0] == number]
    total = next(row for row in locals_ if document["strings"][row[1]] == "total")
    total[1] = len(document["strings"]) - 1
    form_data.read(_data(document))  # it is declared
    declare = next(n for n, c in enumerate(form_data.CLASSES) if c.__name__ == "Declare")
    evaluate = next(n for n, c in enumerate(form_data.CLASSES) if c.__name__ == "Evaluate")
    for row in document["rows"]:
        if row[0] == declare and document["rows"][row[1]] is total:
            row[:] = [evaluate, row[2], row[3]]
    with pytest.raises(form_data.DataError, match="does not declare"):
        form_data.read(_data(document))


def test_a_form_that_refers_to_itself_too_often_is_refused(document):
    """Rows that double with each other would take all memory when code is made of them."""
    numbers = {c.__name__: n for n, c in enumerate(form_data.CLASSES)}
    rows = document["rows"]
    binary = next(n for n, row in enumerate(rows) if row[0] == numbers["Binary"])
    last = binary
    for _ in range(64):
        rows.append([*rows[binary]])
        rows[-1][2] = rows[-1][3] = last
        last = len(rows) - 1
    with pytest.raises(form_data.DataError, match="too often"):
        form_data.read(_data(document))


def test_damaged_data_is_refused_with_one_error(translated, document):
    """Whatever is changed in the bytes or in the rows, reading gives a form or the one error."""
    content, chance = form_data.write(translated), random.Random(7)
    values = [None, -1, 0, 1, 5, 10**30, "x", [], [1], {}, True, 1.5, float("nan")]
    for _ in range(60):
        broken = bytearray(content)
        for _ in range(chance.randint(1, 3)):
            broken[chance.randrange(len(broken))] = chance.randrange(256)
        _tried(bytes(broken[: chance.randint(0, len(broken))]))
    for _ in range(300):
        changed = {**document, "rows": [*document["rows"]]}
        number = chance.randrange(len(changed["rows"]))
        row = changed["rows"][number] = [*changed["rows"][number]]
        row[chance.randrange(len(row))] = chance.choice([*values, chance.randrange(len(document["rows"]))])
        _tried(_data(changed))


def _tried(content):
    try:
        back = form_data.read(content)
    except form_data.DataError:
        return
    file = File(back.form)
    for symbol, function in back.form.functions.items():
        if function.problem is None and not function.external:
            with contextlib.suppress(Exception):  # what it makes is no matter: nothing of it runs
                file.function(symbol)

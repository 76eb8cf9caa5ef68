"""Files of references: both forms, inputs that differ, what weakens a verdict, and a sentence for each that is none."""

import sys
from contextlib import nullcontext
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from mlusim.cli.arguments.comparing import size
from mlusim.cli.main import main
from mlusim.errors import UsageError
from mlusim.judge.reference import Tolerance, compared, loaded
from mlusim.judge.wire import ArrayMessage, BrokenMessage, unpacked
from mlusim.machine.limits import UNLIMITED, limit_in

GOOD = "def inputs(rng, case):\n    return {'x': rng.random(8, 'f4')}\ndef reference(x):\n    return x + 1\n"


@pytest.fixture
def read(tmp_path):
    """Load a reference of the given text."""

    def made(text):
        path = tmp_path / "reference.py"
        path.write_text(text)
        return loaded(str(path))

    return made


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1\n", "has no reference with inputs; write `def inputs"),
        ("def broken(:\n", "SyntaxError in line 1"),
        ("raise SystemExit(3)\n", "ends the program with exit code 3"),
        ("import no_such_module\n", "ModuleNotFoundError in line 1: No module named"),
        (GOOD + "cases = [{'n': 1}, {'n': 1}]\n", "cases are mappings that differ"),
        (GOOD + "cases = 3\n", "cases"),
        (GOOD + "launch = {'grid': 4}\n", "launch = {'grid': 4} is not a launch"),
        (GOOD + "launch = {'dim': 'wide'}\n", "dim = 'wide' is not a grid"),
        (GOOD + "tolerance = 'small'\n", "tolerance = 'small' is not a tolerance"),
        (GOOD + "tolerance = {'y': 1e-3}\n", "tolerance names 'y', which is not an output; there are out"),
        (GOOD + "bind = ['x']\n", "bind = ['x'] does not name inputs and outputs"),
        (GOOD + "def operations(case):\n    return 'many'\n", "operations(case) gives 'many'"),
        (GOOD.replace("x + 1", "x + y"), "NameError in line 4: name 'y' is not defined"),
        (GOOD.replace("x + 1", "'text'"), "the reference gives str for out"),
        (GOOD.replace("rng.random(8, 'f4')", "'text'"), "the input x is str"),
        (GOOD.replace("rng.random(8, 'f4')", "rng.random(8)"), "float64"),
    ],
)
def test_a_sentence_for_each_bad_file(read, text, said):
    """It names the file's part, and what would be right."""
    with pytest.raises(UsageError) as caught:
        read(text).draws(1, 1)

    assert said in str(caught.value)


def test_an_unknown_case(read):
    """The near ones are named."""
    with pytest.raises(UsageError, match=r"no case 'n=2'; there are n=20"):
        read(GOOD + "cases = [{'n': 20}]\n").draws(1, 1, ["n=2"])


def test_inputs_differ(read):
    """One array for two inputs, and a file that seeds its own generator, are told apart; integers stay."""
    text = (
        "import numpy as np\n"
        "def get_inputs():\n"
        "    x = np.random.default_rng(1).random(64, 'f4')\n"
        "    return [x, x, np.arange(64, dtype='i4')]\n"
        "def reference(a, b, i):\n    return a + b[i]\n"
    )
    (first, second), weak = read(text).draws(1, 2)

    assert list(first.inputs) == ["a", "b", "i"]
    assert not np.array_equal(first.inputs["a"], first.inputs["b"])
    assert not np.array_equal(first.inputs["a"], second.inputs["a"])
    assert np.array_equal(np.sort(first.inputs["a"]), np.sort(second.inputs["b"]))
    assert np.array_equal(first.inputs["i"], np.arange(64))
    assert np.array_equal(second.expected["out"], second.inputs["a"] + second.inputs["b"])
    assert weak == [
        "every call has the same shapes, so that a kernel for one shape alone would pass; give cases of other shapes"
    ]


def test_what_weakens_a_verdict(read):
    """A constant output, an input that comes back, and a single draw are said."""
    text = GOOD.replace("return x + 1", "return {'same': x * 0, 'back': x}") + "cases = [{'n': 1}]\n"
    _, weak = read(text).draws(1, 2)
    _, once = read(text).draws(1, 1)

    assert "the reference gives the same same for each draw, so that a constant would pass" in weak
    assert "the reference gives its input x as back" in weak
    assert any(sentence.startswith("each case is drawn once") for sentence in once)


def test_the_same_seed_draws_the_same(read):
    """Whatever cases are chosen."""
    reference = read(GOOD + "cases = [{'n': 1}, {'n': 2}]\n")
    both, _ = reference.draws(3, 1)
    one, _ = reference.draws(3, 1, ["n=2"])
    other, _ = reference.draws(4, 1, ["n=2"])

    assert np.array_equal(both[1].inputs["x"], one[0].inputs["x"])
    assert not np.array_equal(other[0].inputs["x"], one[0].inputs["x"])


def test_a_model_of_torch(read, monkeypatch):
    """Its inputs have the names of `forward`'s parameters; a stand-in for PyTorch has the few names that a judge asks for."""

    class Tensor:
        def __init__(self, array):
            self.array, self.dtype = np.asarray(array, np.float32), "torch.float32"

        def detach(self):
            return self

        cpu = detach

        def numpy(self):
            return self.array

    class Layer:
        def eval(self):
            return self

        def __call__(self, *given):
            return self.forward(*given)

    seeds = []
    torch = ModuleType("torch")
    torch.manual_seed = seeds.append
    torch.from_numpy = Tensor
    torch.rand = lambda n: Tensor(np.random.default_rng(seeds[-1]).random(n))
    torch.no_grad = nullcontext
    torch.nn = SimpleNamespace(Module=Layer)
    monkeypatch.setitem(sys.modules, "torch", torch)
    text = (
        "import numpy as np\nimport torch\n"
        "class Model(torch.nn.Module):\n"
        "    def __init__(self, scale):\n        self.scale = scale\n"
        "    def state_dict(self):\n"
        "        return {'one.weight': torch.rand(4), 'two.bias': torch.rand(4), 'two.count': torch.from_numpy(np.array(3))}\n"
        "    def forward(self, x, bias):\n"
        "        return torch.from_numpy(x.array * self.scale + bias.array)\n"
        "def get_inputs():\n    return [torch.rand(16), torch.rand(16)]\n"
        "def get_init_inputs():\n    return [2.0]\n"
    )
    (first, second), _ = read(text).draws(1, 2)

    assert list(first.inputs) == ["x", "bias", "weight", "two_bias"]
    assert (first.weights, first.numbers) == (("weight", "two_bias"), {"scale": 2.0})
    assert not np.array_equal(first.inputs["x"], first.inputs["bias"])
    assert not np.array_equal(first.inputs["x"], second.inputs["x"])
    assert np.array_equal(second.expected["out"], second.inputs["x"] * 2 + second.inputs["bias"])


@pytest.mark.parametrize(
    ("output", "expected", "wrong"),
    [
        ([1.0, 2.0], [1.0005, 2.0], 0),
        ([1.0, 2.0], [1.01, 2.0], 1),
        ([0.0, 2e-7], [1e-7, 2e-7], 1),  # small numbers are not zeros
        ([0.0, 0.0, 0.0, 1e6], [1.0, 1.0, 1.0, 1e6], 3),  # and a large one hides none
        ([np.nan, np.inf], [np.nan, np.inf], 0),
        ([np.nan, 1.0], [1.0, 1.0], 1),
        ([np.inf], [-np.inf], 1),
    ],
)
def test_what_is_right(output, expected, wrong):
    """Within a tolerance that neither scale nor outliers stretch."""
    o, r = np.array(output, np.float32), np.array(expected, np.float32)

    assert compared(o, r, Tolerance(1e-3)).wrong == wrong


def test_integers_are_exact():
    """Whatever the tolerance of floats."""
    assert compared(np.array([1, 2], np.int32), np.array([1, 3], np.int32), Tolerance(0.0)).wrong == 1


@pytest.mark.parametrize("cut", [0, 5, -1, None])
def test_a_document_is_whole_or_none(cut):
    """What a process has sent in part, or with more behind it, is not a document."""
    data = ArrayMessage({"a": 1}, {"x": np.arange(4, dtype=np.float32)}).packed()

    assert np.array_equal(unpacked(data).arrays["x"], np.arange(4))
    with pytest.raises(BrokenMessage):
        unpacked(data + b"x" if cut is None else data[:cut])


def test_sizes_are_those_of_a_limit():
    """``--memory`` and ``--limit growth=`` read one text as one number of bytes."""
    for text in ("2GiB", "512MiB", "1e9", "2G", "1.5 GiB"):
        assert size(text) == limit_in(f"growth={text}", UNLIMITED).growth


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["k.mlu"], "nothing says what is right; give a file with inputs and a reference"),
        (["--reference", "r.py"], "no candidate was named"),
        (["k.txt", "--reference", "r.py"], "k.txt is not a BANG C file"),
        (["none.mlu", "--reference", "r.py"], "none.mlu is not a file; name a BANG C file"),
        (["k.mlu", "--reference", "none.py"], "none.py cannot be read"),
        (["empty", "--reference", "r.py"], "the folder empty has no .mlu file"),
        (["k.mlu", "--reference", "r.py", "--memory", "lots"], "'lots' is not a size; write it as 2GiB"),
        (["k.mlu", "--reference", "r.py", "--memory", "2gb"], "'2gb' is not a size"),
        (["k.mlu", "--reference", "r.py", "--seconds", "0"], "'0' is not a time"),
        (["k.mlu", "--reference", "r.py", "--seed", "-1"], "--seed -1 is below 0"),
        (["k.mlu", "--reference", "r.py", "--restart"], "name it with -o"),
        (["k.mlu", "--reference", "r.py", "--kernel", "K", "--function", "f"], "exclude each other"),
        (["k.mlu", "--reference", "r.py", "--cases", "n=3"], "has no case 'n=3'; there are default"),
        (["k.mlu", "--reference", "r.py", "--kind", "huge"], "kind 'huge' is unknown"),
        (["k.mlu", "--reference", "r.py", "--board", "X"], "'X'"),
    ],
)
def test_bad_words_of_the_command_line(tmp_path, monkeypatch, capsys, words, said):
    """One sentence each, and exit code 2."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "k.mlu").write_text("__mlu_entry__ void K() {}\n")
    (tmp_path / "r.py").write_text(GOOD)
    (tmp_path / "empty").mkdir()

    assert main(["judge", *words]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert err.count("error:") == 1

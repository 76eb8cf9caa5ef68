"""Files with a kernel that does not compile, beside good ones and alone."""

import pytest

BAD = "__mlu_entry__ void Bad(int *out) { out[0] = __bang_nonsense(1); }\n"
GOOD = "__mlu_entry__ void Good(int *out) { for (int i = 0; i < 4; i++) out[i] = 1; }\n"
WHY = "k.mlu:1:45: Bad does not translate: use of undeclared identifier '__bang_nonsense'"
ARGUMENT = ("--arg", "out=out:int32:4")


@pytest.fixture
def file(tmp_path):
    """Writes the file that a test is about."""

    def write(text):
        (tmp_path / "k.mlu").write_text(text)
        return tmp_path / "k.mlu"

    return write


@pytest.mark.parametrize("verb", ["run", "check", "profile"])
def test_a_kernel_that_does_not_compile_is_named_beside_the_one_that_runs(cli, file, verb):
    """On standard error, once; the other one runs."""
    done = cli(verb, file(BAD + GOOD), *ARGUMENT)

    assert done.code == 0
    assert 1 == done.err.count("note: ")
    assert f"{WHY}; other functions of the file run\n" in done.err


def test_many_that_do_not_compile_are_counted(cli, file):
    """Three are named."""
    done = cli("run", file("".join(BAD.replace("Bad", f"Bad{n}") for n in range(8)) + GOOD), *ARGUMENT)

    assert 4 == done.err.count("note: ")
    assert "note: 5 more functions do not compile\n" in done.err


@pytest.mark.parametrize("more", [(), ("--kernel", "Bad")])
def test_the_only_kernel_says_why_it_does_not_run(cli, file, more):
    """With its line and a caret, whether it is named or not."""
    source = BAD.replace("__bang_nonsense(1)", "*(out + 1); static_cast<int (*)[2]>(out)")
    done = cli("run", file(source), *more, *ARGUMENT)

    assert done.code == 2
    assert "k.mlu:1:" in done.err
    assert "^" in done.err
    assert "--kernel" not in done.err


def test_compile_says_the_parameters_once(cli, file):
    """Of kernels that share a name, which is shown without types; and an error of the compiler is not a construct."""
    done = cli("compile", file(BAD + GOOD + GOOD.replace("int *out", "float *out")))

    assert "kernel Good(int * out), line 2" in done.out
    assert "kernel Good(float * out), line 3" in done.out
    assert "Bad does not translate:" in done.out

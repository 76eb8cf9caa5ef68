"""What a folder of sources calls and the table lacks: names, forms and architectures, with comments and own functions left out."""

from benchmarks.names import lacks, main

SOURCE = """\
// __bang_in_a_comment(1)
#define __bang_macro(x) __bang_add(x, x, x, 64)
__mlu_func__ void __mine(float *p) { __bang_macro(p); }
__mlu_entry__ void K(float *p) {
  __nram__ float a[64];
  __mine(a);
  __bang_nowhere(a, "__bang_in_a_string(", 64);
  __bang_add(a, a, a,
             f(1, 2), 64);
  __bang_add(a, a, a, max(1, 64));
  __bang_div(a, a, a, 64);
  __memcpy(p, a, 256, NRAM2GDRAM);
}
"""


def test_each_kind_is_told_once_with_its_first_place(tmp_path):
    """A name that is nowhere, a number of arguments that no prototype takes, and a row that MLU370 lacks."""
    (tmp_path / "k.mlu").write_text(SOURCE)
    made = tmp_path / "build" / "toolkit" / "include"  # what mlusim makes of the table is not a source
    made.mkdir(parents=True)
    (made / "intrinsics.h").write_text("void __bang_atomic(int);")
    (made.parent / "lib64").mkdir()
    (made.parent / "lib64" / "mlusim.conf").write_text("")
    (tmp_path / "host.h").write_text("inline void f() { __syscall_of_the_host(1); }\n")

    found = [(lack.kind, lack.text, lack.count, lack.place) for lack in lacks(tmp_path, "mtp_372")]

    assert [
        ("form", "`__bang_add` with 5 arguments", 1, "k.mlu:8"),
        ("architecture", "`__bang_div` on mtp_372", 1, "k.mlu:11"),
        ("name", "`__bang_nowhere`", 1, "k.mlu:7"),
    ] == found


def test_a_folder_without_sources_is_refused(tmp_path, capsys):
    """One sentence, and the exit code of wrong use."""
    assert main([str(tmp_path)]) == 2
    assert "has no sources that end with .mlu or .mluh" in capsys.readouterr().err

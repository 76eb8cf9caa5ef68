"""`--engine` on the command line."""

import json

import pytest

from mlusim.cli.main import main
from mlusim.engine.native.build import available

SOURCE = """\
__nram__ float buf[64];

__mlu_global__ void twice(float *out, float *in) {
  __memcpy(buf, in, 256, GDRAM2NRAM);
  __bang_add(buf, buf, buf, 64);
  __memcpy(out, buf, 256, NRAM2GDRAM);
}
"""


@pytest.mark.parametrize("engine", ["auto", "python", "native"])
def test_a_kernel_runs_on_the_engine_that_was_asked_for(tmp_path, capsys, engine):
    """The document says which engine it was; without a compiler "native" is refused in a sentence."""
    (tmp_path / "k.mlu").write_text(SOURCE)
    call = [str(tmp_path / "k.mlu"), "--arg", "out=out:float32:64", "--arg", "in=out:float32:64"]
    wanted = "native" if available() is not None and engine != "python" else "python"

    code = main(["run", *call, "--engine", engine, "--json"])

    said = capsys.readouterr()
    if engine == "native" and wanted == "python":
        assert code == 2
        assert "no C compiler" in said.err
    else:
        assert code == 0
        assert json.loads(said.out)["launches"][0]["engine"] == wanted

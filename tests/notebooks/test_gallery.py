"""The gallery notebook, in a real kernel: every cell runs and shows what is stored; the magics show each launch once."""

import nbformat

from tests.notebooks.run_gallery import NOTEBOOK, executed, shown


def test_the_gallery_shows_what_is_stored():
    """Values show themselves once, as text and as HTML; a fault that ends a cell is its sentence."""
    stored, fresh = shown(nbformat.read(NOTEBOOK, as_version=4)), shown(executed())
    told = {source.splitlines()[-1]: outputs for source, outputs in fresh.items()}
    magic = next(outputs for source, outputs in fresh.items() if source.startswith("%%mlusim_profile"))
    checked = "\n".join(next(outputs for source, outputs in fresh.items() if "racecheck" in source))

    assert stored == fresh
    assert 1 == len(told["found.launches[0]"])
    assert 1 == "\n".join(magic).count("because starting one launch")
    assert 1 == checked.count("racecheck-read-after-write")
    assert "mlu.bang_add(buffer, buffer, buffer, count)" in checked
    assert "poison, poison" in told["device.empty(4, np.float32)"][0]

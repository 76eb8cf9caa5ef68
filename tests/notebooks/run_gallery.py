"""Runs the gallery notebook in a kernel of its own: ``python -m tests.notebooks.run_gallery`` stores what its cells show."""

import json
import re
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[2] / "examples" / "gallery.ipynb"


def executed():
    """The notebook after all its cells have run in order, without when, where and by which process."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    where = {"metadata": {"path": str(NOTEBOOK.parent)}}
    NotebookClient(notebook, timeout=120, resources=where).execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
    notebook.metadata.pop("language_info", None)
    return nbformat.from_dict(json.loads(re.sub(r"[\w/.-]*/ipykernel_\d+/", "", json.dumps(notebook))))


def shown(notebook):
    """What each cell of code shows as plain text, under the first line of the cell."""
    return {
        cell.source: [output.get("text") or output["data"]["text/plain"] for output in cell.outputs]
        for cell in notebook.cells
        if cell.cell_type == "code"
    }


if __name__ == "__main__":
    nbformat.write(executed(), NOTEBOOK)
    sys.exit(0)

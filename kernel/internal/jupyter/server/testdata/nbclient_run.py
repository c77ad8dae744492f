"""Execute a notebook with nbclient, errors allowed.

usage: nbclient_run.py KERNEL CELLS.json

CELLS.json is a list of cells' sources. The last line printed is a JSON list
with each cell's outputs.
"""

import json
import sys

import nbformat
from nbclient import NotebookClient

kernel, cells = sys.argv[1:]
with open(cells) as f:
    sources = json.load(f)
notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(s) for s in sources])
NotebookClient(notebook, kernel_name=kernel, timeout=300, allow_errors=True).execute()
nbformat.validate(notebook)
print(json.dumps([{"count": c.execution_count, "outputs": c.outputs} for c in notebook.cells]))

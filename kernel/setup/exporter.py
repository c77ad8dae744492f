"""File > Save and Export As > Executable Script of JupyterLab, and jupyter nbconvert
--to script, for notebooks of a kernel that dace install has registered: the program
that dace convert makes of them. Notebooks of other kernels for Go stay texts.

Written by dace install; dace uninstall removes it."""
import subprocess

import nbformat
from nbconvert.exporters import Exporter, ScriptExporter

COMMAND = "the kernel's command"
KERNEL = "the kernel's name"


class ProgramExporter(ScriptExporter):
    def from_notebook_node(self, nb, resources=None, **kw):
        self.file_extension = ".go"
        data = nb.metadata
        if "dace" in data.get("language_info", {}) or data.get("kernelspec", {}).get("name") == KERNEL:
            copy, found = Exporter.from_notebook_node(self, nb, resources, **kw)
            try:
                done = subprocess.run(
                    [COMMAND, "convert", "-", "-to", "go", "-o", "-"],
                    input=nbformat.writes(copy).encode(),
                    capture_output=True,
                    cwd=found["metadata"].get("path") or None,
                )
            except OSError as err:
                self.log.warning("%s: %s; the script is the text of the cells", COMMAND, err)
            else:
                if done.stderr:
                    self.log.warning("%s", done.stderr.decode().rstrip())
                if done.returncode == 0:
                    name = found["metadata"].get("name") or "notebook"
                    program = done.stdout.decode()
                    return program.replace("// notebook.ipynb ", "// %s.ipynb " % name, 1), found
        # What ScriptExporter does for a language without an exporter.
        return super(ScriptExporter, self).from_notebook_node(nb, resources, **kw)

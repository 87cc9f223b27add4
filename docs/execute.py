"""Execute the tutorials, each in a folder of its own, and store their outputs.

python docs/execute.py [--check] [NAME …]     --check: executes them, and writes nothing
"""

import argparse
import os
import re
import sys
import tempfile
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient

ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
FOLDER = Path(__file__).parent / "tutorials"


def execute(path):
    """The notebook with fresh outputs; what it writes goes to a folder that is removed."""
    book = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory(prefix="airfeel-tutorial-") as place:
        resources = {"metadata": {"path": place}}
        options = {"timeout": 600, "kernel_name": "python3", "coalesce_streams": True}
        NotebookClient(book, resources=resources, **options).execute()
    for cell in book.cells:
        cell.metadata.pop("execution", None)  # when it was run says nothing
        if "outputs" in cell:  # stderr holds what is said of this machine
            cell.outputs = [o for o in cell.outputs if o.get("name") != "stderr"]
            for output in cell.outputs:
                if "text" in output:  # a page shows no bold type of terminals
                    output.text = ESCAPE.sub("", output.text)
    book.metadata.pop("widgets", None)
    book.metadata["language_info"] = {"name": "python"}
    return book


def main():
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    programs = Path(sys.executable).parent  # `!airfeel` is the one of this environment
    os.environ["PATH"] = f"{programs}{os.pathsep}{os.environ['PATH']}"
    os.environ |= {"COLUMNS": "100", "NO_COLOR": "1"}
    for path in [FOLDER / f"{name}.ipynb" for name in args.names] or sorted(FOLDER.glob("*.ipynb")):
        begin = time.monotonic()
        book = execute(path)
        if not args.check:
            nbformat.write(book, path)
        print(f"{path.name}: {time.monotonic() - begin:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()

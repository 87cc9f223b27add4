"""The tutorials: stored with their outputs, none of them an error; one is carried out here."""

import importlib.util
import re
from pathlib import Path

import nbformat
import pytest
import yaml

DOCS = Path(__file__).parents[1] / "docs"
BOOKS = sorted((DOCS / "tutorials").glob("*.ipynb"))


def read(path):
    book = nbformat.read(path, as_version=4)
    nbformat.validate(book)
    return book


def module(name):
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def texts(book):
    """What a notebook's cells have printed or shown."""
    for cell in book.cells:
        for output in cell.get("outputs", ()):
            yield output.get("text", "") or output.get("data", {}).get("text/plain", "")


@pytest.mark.parametrize("path", BOOKS, ids=lambda p: p.stem)
def test_a_tutorial_is_stored_with_the_outputs_of_a_run_from_top_to_bottom(path):
    book = read(path)
    code = [cell for cell in book.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert any(cell.outputs for cell in code)
    for cell in code:
        assert not [output for output in cell.outputs if output.output_type == "error"]


@pytest.mark.parametrize("path", BOOKS, ids=lambda p: p.stem)
def test_a_tutorial_tells_nothing_of_the_machine_that_it_ran_on(path):
    for text in texts(read(path)):
        assert not re.search(r"/(tmp|home|root|work|Users)/", text)
        assert "Traceback" not in text
        assert "\x1b" not in text


def test_every_tutorial_is_a_page_of_the_site():
    nav = yaml.safe_load((DOCS.parent / "mkdocs.yml").read_text("utf-8"))["nav"]
    (tutorials,) = [entry["Tutorials"] for entry in nav if "Tutorials" in entry]
    pages = {Path(page).stem for entry in tutorials for page in entry.values()}
    assert pages == {path.stem for path in BOOKS}


def test_the_first_tutorial_runs(tmp_path):
    path = DOCS / "tutorials" / "first_run.ipynb"
    book = module("execute").execute(path)
    stored = read(path)
    assert [len(cell.get("outputs", ())) for cell in book.cells] == [
        len(cell.get("outputs", ())) for cell in stored.cells
    ]

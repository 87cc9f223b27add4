"""docs/parts.md tells the truth: its Python is one module, and each of its settings runs."""

import re
import sys
import tomllib
from pathlib import Path

import pytest

import airfeel.parts
from airfeel import catalogues
from airfeel.build.setup import build
from airfeel.catalogue import Catalogue
from airfeel.settings.load import experiment
from small import BASE, play

PAGE = (Path(__file__).parents[2] / "docs" / "parts.md").read_text("utf-8")
BLOCKS = [tomllib.loads(text) for text in re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)]


@pytest.fixture(autouse=True)
def mine(home, monkeypatch):
    """The page's Python, as a module of a stranger."""
    text = "\n\n".join(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL))
    (home / "mine.py").write_text(text, "utf-8")
    monkeypatch.syspath_prepend(str(home))
    yield
    sys.modules.pop("mine", None)


@pytest.mark.parametrize(
    "block", BLOCKS, ids=lambda b: "-".join(f"{s}.{next(iter(b[s]))}" for s in b)
)
def test_settings_of_the_page_run(block):
    table = {section: {**keys, **block.get(section, {})} for section, keys in BASE.items()}
    assert len(play(build(experiment(table)), 3)) == 3


def test_every_kind_of_part_has_its_place_on_the_page():
    for catalogue in (c for c in vars(catalogues).values() if isinstance(c, Catalogue)):
        assert f"`{catalogue.key}`" in PAGE, catalogue.kind


def test_every_protocol_of_the_page_is_public():
    for name in re.findall(r"^`([A-Z]\w+)`", PAGE, re.MULTILINE):
        assert name in airfeel.parts.__all__

"""`airfeel data` from the outside; its downloads come from file addresses."""

import gzip
import hashlib
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from airfeel.cli.data import app
from airfeel.data.sources import SOURCES, Download, Item, Layout, Source
from airfeel.types import BadInput

DATA = {"images": b"pixels" * 100, "labels": b"0123456789"}


def data(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that tiny is fetched from, gzipped."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("AIRFEEL_DATA", raising=False)
    folder = tmp_path / "site"
    folder.mkdir()
    for name, content in DATA.items():
        (folder / f"{name}.gz").write_bytes(gzip.compress(content))
    items = tuple(Item(n, len(d), hashlib.md5(d).hexdigest()) for n, d in DATA.items())
    downloads = tuple(Download((folder / f"{name}.gz").as_uri()) for name in DATA)
    monkeypatch.setitem(SOURCES, "tiny", Source(7, downloads, (Layout("tiny-set", items),)))
    return folder


def test_fetch_then_list(site: Path, tmp_path: Path) -> None:
    home = tmp_path / "cache" / "airfeel" / "data"
    fetched = data("fetch", "tiny")
    assert fetched.exit_code == 0
    assert fetched.stdout == f"tiny: verified, in {home / 'tiny-set'}\n"
    assert fetched.stderr.count("downloading images.gz (") == 1
    rows = {line.split()[0]: line.split() for line in data("list").stdout.splitlines()}
    assert rows["tiny"] == ["tiny", "found", "7", "0.0", "MB", str(home / "tiny-set")]
    assert rows["cifar10"][:3] == ["cifar10", "missing", "60000"]
    assert rows["digits"][:3] == ["digits", "found", "1797"]


def test_add_to_a_given_place(site: Path, tmp_path: Path) -> None:
    added = data("add", "tiny", site, "--data-dir", tmp_path / "there")
    assert added.exit_code == 0
    assert (tmp_path / "there" / "tiny-set" / "labels").read_bytes() == DATA["labels"]
    assert "missing" in data("list").stdout.split("tiny")[1]
    assert "found" in data("list", "--data-dir", tmp_path / "there").stdout.split("tiny")[1]


def test_list_tells_damage_on_the_error_stream(site: Path, tmp_path: Path) -> None:
    data("add", "tiny", site)
    (tmp_path / "cache/airfeel/data/tiny-set/labels").write_bytes(b"0123456780")
    listed = data("list")
    assert listed.exit_code == 0
    assert "damaged" in listed.stdout
    assert "tiny-set/labels: damaged: md5" in listed.stderr


def test_bad_input_passes_through(site: Path, tmp_path: Path) -> None:
    for arguments in (("fetch", "digits"), ("add", "tiny", tmp_path / "nowhere")):
        result = data(*arguments)
        assert isinstance(result.exception, BadInput)
        assert "\n" not in str(result.exception)


@pytest.mark.parametrize("command", [(), ("fetch",), ("add",), ("list",)])
def test_help_is_there(command: tuple[str, ...]) -> None:
    shown = data(*command, "--help")
    assert shown.exit_code == 0
    assert "Usage" in shown.stdout

"""What an archive may unpack to: no more than a set needs, whatever it promises."""

import gzip
import io
import tarfile
import time
import zipfile
import zlib

import numpy as np
import pytest

from airfeel.data import download, layouts, own
from airfeel.data.sources import Item, Layout
from airfeel.types import BadInput

LAYOUT = Layout("tiny", (Item("one.bin", 8, "7dea362b3fac8e00956a4952a3d4f474"),), "tiny.tar.gz")
MEGABYTE = 1 << 20


def header(name, size, kind=tarfile.REGTYPE):
    member = tarfile.TarInfo(name)
    member.size, member.type = size, kind
    return member.tobuf(tarfile.GNU_FORMAT)


@pytest.fixture
def small_cap(monkeypatch):
    monkeypatch.setattr(layouts, "UNPACKED", 8 * MEGABYTE)


@pytest.mark.parametrize(
    "kind",
    [tarfile.REGTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE],
    ids=["file", "name", "pax"],
)
def test_an_archive_that_unpacks_to_too_much_is_refused_on_the_way(tmp_path, small_cap, kind):
    """Names and extended headers are read into memory by tarfile, however long they are."""
    path = tmp_path / "tiny.tar.gz"
    with gzip.open(path, "wb") as stream:
        stream.write(header("filler", 1 << 36, kind))
        for _ in range(64):
            stream.write(bytes(MEGABYTE))
    begin = time.monotonic()
    with pytest.raises(BadInput, match=r"unpacks to more than 0.0\d+ GB; must be") as refused:
        layouts.recognise([LAYOUT], path)
    assert "\n" not in str(refused.value)
    assert time.monotonic() - begin < 20
    with pytest.raises(BadInput, match="unpacks to more"):
        list(layouts.read(LAYOUT, path))


@pytest.mark.parametrize("form", ["", "gz", "bz2", "xz"])
def test_archives_of_every_form_are_read(tmp_path, small_cap, form):
    path = tmp_path / "any"
    with tarfile.open(path, f"w:{form}") as tar:
        member = tarfile.TarInfo("a/one.bin")
        member.size = 8
        tar.addfile(member, io.BytesIO(bytes(8)))
    assert layouts.recognise([LAYOUT], path) == (LAYOUT, path)
    assert list(layouts.read(LAYOUT, path)) == [("one.bin", bytes(8))]


def test_an_npz_file_that_unpacks_to_too_much_is_refused(tmp_path):
    path = tmp_path / "own.npz"
    np.savez_compressed(path, x=np.zeros((100, 1000)), y=np.arange(100) % 2)
    assert len(own.file(str(path)).train_x) == 80
    with pytest.raises(BadInput, match=r"unpacks to 0.0 GB; must be at most 0.0001"):
        own.file(str(path), gigabytes=1e-4)


def test_an_npz_file_that_hides_its_size_gives_no_more_than_it_says(tmp_path):
    """The sizes in a zip file are what is read of it: one that lies is damaged, not large."""
    path = tmp_path / "own.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        stream = io.BytesIO()
        np.save(stream, np.zeros(MEGABYTE))
        archive.writestr("x.npy", stream.getvalue())
        np.save(short := io.BytesIO(), np.zeros(5))
        archive.writestr("y.npy", short.getvalue())
    whole = path.read_bytes()
    size = (8 * MEGABYTE + 128).to_bytes(4, "little")
    assert whole.count(size) == 2
    path.write_bytes(whole.replace(size, (1000).to_bytes(4, "little")))
    with pytest.raises(BadInput, match=r"cannot be read as \.npz"):
        own.file(str(path), gigabytes=1e-5)


def test_an_array_that_unpacks_to_much_more_than_is_stored_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "own.npz"
    np.savez_compressed(path, x=np.zeros((2000, 4500)), y=np.arange(2000) % 2)
    unpacked = []
    monkeypatch.setattr(np, "load", lambda *_, **__: unpacked.append(1))
    with pytest.raises(
        BadInput, match=r"x\.npy unpacks to 72 MB from 0\.1 MB; must be at most 200"
    ):
        own.file(str(path))
    assert not unpacked


def test_a_download_ends_where_it_is_longer_than_any_set(tmp_path):
    url = (tmp_path / "source").as_uri()
    (tmp_path / "source").write_bytes(zlib.compress(b"") * 1000)
    with pytest.raises(BadInput, match="sends 8000 bytes, must be at most 4000"):
        download.download(url, tmp_path / "target", lambda *_: None, 4000)
    assert not (tmp_path / "target").exists()

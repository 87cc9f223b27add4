"""Data files: found in order, verified, and added whole or not at all."""

import gzip
import hashlib
import io
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from tiny_set import ARCHIVE, DATA, LAYOUTS, OTHER, tar, tree, write

from airfeel.data import files
from airfeel.data.sources import SOURCES, Source
from airfeel.types import BadInput


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty per-user cache, and a set named tiny in two layouts."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("AIRFEEL_DATA", raising=False)
    monkeypatch.setitem(SOURCES, "tiny", Source(30, (), LAYOUTS))
    return tmp_path / "cache" / "airfeel" / "data"


def test_places_come_in_order(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert files.places() == [home]
    monkeypatch.setenv("AIRFEEL_DATA", "/from/environment")
    assert files.places(Path("/given")) == [Path("/given"), Path("/from/environment"), home]
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    monkeypatch.setenv("AIRFEEL_DATA", "")
    assert files.places() == [Path.home() / ".cache/airfeel/data"]


def test_the_first_place_wins(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(home / "tiny-bin", DATA)
    assert dict(files.contents("tiny", tmp_path / "empty")) == DATA
    monkeypatch.setenv("AIRFEEL_DATA", str(tmp_path / "environment"))
    write(tmp_path / "environment" / "tiny-py", OTHER)
    assert dict(files.contents("tiny")) == OTHER
    write(tmp_path / "given" / "tiny-bin", DATA)
    assert dict(files.contents("tiny", tmp_path / "given")) == DATA


@pytest.mark.parametrize("data", [DATA, OTHER], ids=["first layout", "second layout"])
@pytest.mark.parametrize("form", ["folder", "gzipped", "archive"])
def test_every_form_is_read(home: Path, data: dict[str, bytes], form: str) -> None:
    stem = "tiny-bin" if data is DATA else "tiny-py"
    if form == "archive":
        name = "tiny-binary" if data is DATA else "tiny-python"
        write(home, {f"{name}.tar.gz": tar(data, stem)})
    else:
        packed = {f"{n}.gz": gzip.compress(d) for n, d in data.items()}
        write(home / stem, packed if form == "gzipped" else data)
    assert dict(files.contents("tiny")) == data


def test_a_missing_set_says_where_and_how(home: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput) as caught:
        files.contents("tiny", tmp_path / "given")
    for part in (str(tmp_path / "given"), str(home), "data fetch tiny", "data add tiny PATH"):
        assert part in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("deed", [files.contents, files.fetch])
def test_an_unknown_set_is_refused(deed: Callable[[str], object]) -> None:
    with pytest.raises(BadInput, match=r"dataset = 'emnist'.*cifar10, fashion-mnist"):
        deed("emnist")


def cut(data: bytes) -> bytes:
    return data[:-7]


def altered(data: bytes) -> bytes:
    return data[:100] + bytes([data[100] ^ 1]) + data[101:]


def longer(data: bytes) -> bytes:
    return data + b"x"


@pytest.mark.parametrize(
    ("harm", "told"),
    [
        (cut, "5001 bytes expected, 4994 found"),
        (altered, f"md5 {hashlib.md5(DATA['part_1.bin']).hexdigest()} expected, .* found"),
        (longer, "5001 bytes expected, more found"),
        (lambda data: None, "missing; 5001 bytes expected"),
    ],
    ids=["cut", "altered", "longer", "missing"],
)
def test_a_damaged_file_is_refused_by_name(
    home: Path, harm: Callable[[bytes], bytes | None], told: str
) -> None:
    harmed = harm(DATA["part_1.bin"])
    rest = {name: data for name, data in DATA.items() if name != "part_1.bin"}
    write(home / "tiny-bin", rest if harmed is None else rest | {"part_1.bin": harmed})
    with pytest.raises(BadInput, match=rf"tiny-bin/part_1.bin: .*{told}"):
        dict(files.contents("tiny"))


@pytest.mark.parametrize("harm", [cut, altered])
def test_a_damaged_gzip_is_refused_by_name(home: Path, harm: Callable[[bytes], bytes]) -> None:
    packed = {f"{n}.gz": gzip.compress(d) for n, d in DATA.items()}
    write(home / "tiny-bin", packed | {"part_2.bin.gz": harm(packed["part_2.bin.gz"])})
    with pytest.raises(BadInput, match=r"part_2\.bin\.gz: damaged"):
        dict(files.contents("tiny"))


def test_a_gzip_is_not_unpacked_beyond_the_expected_size(home: Path) -> None:
    bomb = gzip.compress(bytes(50_000_000))
    write(home / "tiny-bin", DATA)
    (home / "tiny-bin" / "part_0.bin").unlink()
    (home / "tiny-bin" / "part_0.bin.gz").write_bytes(bomb)
    with pytest.raises(BadInput, match="5000 bytes expected, more found"):
        dict(files.contents("tiny"))


@pytest.mark.parametrize(
    ("archive", "told"),
    [
        (ARCHIVE[:-3000], "damaged or unreadable"),
        (ARCHIVE[:2000], "damaged or unreadable"),
        (b"no archive at all", "damaged or unreadable"),
        (tar(DATA | {"part_1.bin": altered(DATA["part_1.bin"])}), "part_1.bin: damaged: md5"),
        (tar({n: d for n, d in DATA.items() if n != "part_2.bin"}), "part_2.bin is missing"),
    ],
    ids=["cut", "cut early", "no archive", "altered", "incomplete"],
)
def test_a_damaged_archive_is_refused(home: Path, archive: bytes, told: str) -> None:
    write(home, {"tiny-binary.tar.gz": archive})
    with pytest.raises(BadInput, match=rf"tiny-binary.tar.gz.*{told}"):
        dict(files.contents("tiny"))


def test_an_archive_cannot_write_or_link_elsewhere(home: Path, tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name in ("../../escaped", "/tmp/escaped", "tiny-bin/extra"):
            archive.addfile(tarfile.TarInfo(name))
        link = tarfile.TarInfo("tiny-bin/part_0.bin")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/hostname"
        archive.addfile(link)
    bad = tmp_path / "bad.tar"
    bad.write_bytes(buffer.getvalue())
    before = tree(tmp_path)
    with pytest.raises(BadInput, match="holds no file of this set"):
        files.add("tiny", bad)
    assert tree(tmp_path) == before


@pytest.mark.parametrize("form", ["folder", "parent", "gzipped", "archive", "renamed archive"])
def test_add_installs_from_anywhere(home: Path, tmp_path: Path, form: str) -> None:
    local = tmp_path / "local"
    if form == "folder":
        path = write(local, DATA)
    elif form == "parent":
        path = write(local / "tiny-bin", DATA).parent
    elif form == "gzipped":
        path = write(local, {f"{n}.gz": gzip.compress(d) for n, d in DATA.items()})
    else:
        name = "tiny-binary.tar.gz" if form == "archive" else "download(1)"
        path = write(local, {name: ARCHIVE}) / name
    assert files.add("tiny", path) == home / "tiny-bin"
    assert tree(home) == {"tiny-bin", *(f"tiny-bin/{name}" for name in DATA)}
    assert dict(files.contents("tiny")) == DATA
    assert (home / "tiny-bin").stat().st_mode & 0o777 == local.stat().st_mode & 0o777


def test_add_knows_the_second_layout_and_a_given_place(home: Path, tmp_path: Path) -> None:
    archive = write(tmp_path / "local", {"x.tgz": tar(OTHER, "tiny-py")}) / "x.tgz"
    assert files.add("tiny", archive, tmp_path / "there") == tmp_path / "there" / "tiny-py"
    assert not home.exists()


def test_add_replaces_damage_and_nothing_else(home: Path, tmp_path: Path) -> None:
    write(home / "tiny-bin", {"part_0.bin": b"damaged", "notes.txt": b"mine"})
    files.add("tiny", write(tmp_path / "local", DATA))
    assert dict(files.contents("tiny")) == DATA
    assert (home / "tiny-bin" / "notes.txt").read_bytes() == b"mine"


def test_a_damaged_source_leaves_no_trace(home: Path, tmp_path: Path) -> None:
    write(home / "tiny-bin", DATA)
    local = write(tmp_path / "local", DATA | {"part_2.bin": cut(DATA["part_2.bin"])})
    with pytest.raises(BadInput, match=r"local/part_2\.bin: damaged"):
        files.add("tiny", local)
    assert tree(home) == {"tiny-bin", *(f"tiny-bin/{name}" for name in DATA)}
    assert dict(files.contents("tiny")) == DATA


def test_add_says_what_is_wrong_with_a_path(home: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"nowhere: does not exist; tiny is .* tiny-bin or tiny-py"):
        files.add("tiny", tmp_path / "nowhere")
    with pytest.raises(BadInput, match="holds no file of this set"):
        files.add("tiny", tmp_path)


def test_an_unwritable_place_is_told(home: Path, tmp_path: Path) -> None:
    local = write(tmp_path / "local", DATA)
    (tmp_path / "file").write_bytes(b"")
    for deed in (lambda p: files.add("tiny", local, p), lambda p: files.fetch("tiny", p)):
        with pytest.raises(BadInput, match=r"data_dir = .*file/sub: cannot be written"):
            deed(tmp_path / "file" / "sub")


def test_status_tells_found_missing_and_damaged(home: Path) -> None:
    def tiny() -> files.Status:
        return next(row for row in files.status() if row.name == "tiny")

    assert tiny() == files.Status("tiny", "missing", None, 30, 0)
    folder = write(home / "tiny-bin", DATA)
    assert tiny() == files.Status("tiny", "found", folder, 30, 15003)
    (folder / "part_1.bin").write_bytes(b"?")
    assert (tiny().state, tiny().size) == ("damaged", 10003)
    assert "part_1.bin" in tiny().note


def test_the_table_of_official_sources_is_consistent() -> None:
    assert set(SOURCES) == {"cifar10", "fashion-mnist", "mnist"}
    for source in SOURCES.values():
        first = source.layouts[0]
        for each in source.downloads:
            name = each.file.removesuffix(".gz")
            assert each.file == first.archive or name in {item.name for item in first.items}
        for layout in source.layouts:
            assert len({item.md5 for item in layout.items}) == len(layout.items)
            assert all(len(item.md5) == 32 for item in layout.items)
    records = sum(item.size for item in SOURCES["cifar10"].layouts[0].items) / 3073
    assert records == SOURCES["cifar10"].samples
    for name in ("fashion-mnist", "mnist"):
        size = sum(item.size for item in SOURCES[name].layouts[0].items)
        assert size == SOURCES[name].samples * (28 * 28 + 1) + 2 * (16 + 8)

"""Fetching a data set: resumed where possible, installed whole or not at all."""

import gzip
import hashlib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from tiny_set import ARCHIVE, DATA, LAYOUTS, tar, tree, write

from airfeel.data import files
from airfeel.data.sources import SOURCES, Download, Source
from airfeel.types import BadInput


class Site(BaseHTTPRequestHandler):
    """A server of the files in `pages`, which can be told to misbehave."""

    pages: dict[str, bytes]
    ranges = True  # honours Range
    drop_after: int | None = None  # bytes after which the connection breaks
    shift = 0  # of the range it serves against the one asked for
    asked: list[tuple[str, str | None]]

    def do_GET(self) -> None:
        page, span = self.pages.get(self.path), self.headers["Range"]
        self.asked.append((self.path, span))
        start = int(span.removeprefix("bytes=").removesuffix("-")) if span and self.ranges else 0
        if page is None or start >= len(page):
            self.send_error(416 if page else 404)
            return
        start += self.shift if start else 0
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(page) - start))
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(page) - 1}/{len(page)}")
        self.end_headers()
        self.wfile.write(page[start:][: self.drop_after])

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of data sets, the first to be looked in."""
    monkeypatch.setenv("AIRFEEL_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture
def site(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Site]]:
    """A server on this machine, and tiny to be fetched from it as one archive."""
    pages = {"/tiny-binary.tar.gz": ARCHIVE}
    handler = type("Handler", (Site,), {"pages": pages, "asked": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        base = f"http://127.0.0.1:{server.server_port}/"
        md5 = hashlib.md5(pages["/tiny-binary.tar.gz"]).hexdigest()
        download = Download(f"{base}tiny-binary.tar.gz", md5)
        monkeypatch.setitem(SOURCES, "tiny", Source(30, (download,), LAYOUTS))
        yield handler
        server.shutdown()
        thread.join()


def part_of(home: Path, length: int) -> None:
    """The beginning of a download."""
    write(home / ".tiny.incoming", {"tiny-binary.tar.gz.part": ARCHIVE[:length]})


def assert_installed(home: Path) -> None:
    """All files there, and nothing else left."""
    assert tree(home) == {"tiny-bin", *(f"tiny-bin/{name}" for name in DATA)}
    assert dict(files.contents("tiny")) == DATA


def test_fetch_installs_and_reports_progress(home: Path, site: type[Site]) -> None:
    size, told = len(ARCHIVE), []
    folder = files.fetch("tiny", progress=lambda *news: told.append(news))
    assert folder == home / "tiny-bin"
    assert_installed(home)
    assert told[0] == ("tiny-binary.tar.gz", 0, size)
    assert told[-1] == ("tiny-binary.tar.gz", size, size)
    files.fetch("tiny")
    assert len(site.asked) == 1  # it was there


def test_fetch_of_several_gzipped_files(
    home: Path, site: type[Site], monkeypatch: pytest.MonkeyPatch
) -> None:
    base = SOURCES["tiny"].downloads[0].url.removesuffix("tiny-binary.tar.gz")
    site.pages = {f"/{name}.gz": gzip.compress(data) for name, data in DATA.items()}
    downloads = tuple(Download(f"{base}{name}.gz") for name in DATA)
    monkeypatch.setitem(SOURCES, "tiny", Source(30, downloads, LAYOUTS))
    files.fetch("tiny")
    assert_installed(home)


def test_fetch_replaces_a_damaged_set(home: Path, site: type[Site]) -> None:
    write(home / "tiny-bin", DATA | {"part_0.bin": b"damaged"})
    files.fetch("tiny")
    assert_installed(home)


def test_fetch_resumes_after_a_broken_connection(home: Path, site: type[Site]) -> None:
    site.drop_after = 4000
    with pytest.raises(BadInput, match=r"closed after 4000 of \d+ bytes; the same command again"):
        files.fetch("tiny")
    assert not (home / "tiny-bin").exists()
    site.drop_after = None
    files.fetch("tiny")
    assert [span for _, span in site.asked] == [None, "bytes=4000-"]
    assert_installed(home)


@pytest.mark.parametrize(
    ("trouble", "length", "requests"),
    [({"ranges": False}, 4000, 1), ({"shift": 5}, 4000, 2), ({}, 10**6, 2)],
    ids=["ignores Range", "wrong range", "part too long"],
)
def test_fetch_begins_anew_where_it_cannot_resume(
    home: Path, site: type[Site], trouble: dict[str, int], length: int, requests: int
) -> None:
    for name, value in trouble.items():
        setattr(site, name, value)
    part_of(home, length)
    files.fetch("tiny")
    assert len(site.asked) == requests
    assert_installed(home)


def test_fetch_refuses_what_is_not_the_published_file(home: Path, site: type[Site]) -> None:
    site.pages["/tiny-binary.tar.gz"] = tar(DATA, "another")
    with pytest.raises(BadInput, match=r"tiny-binary\.tar\.gz: damaged: md5 .* expected, .* found"):
        files.fetch("tiny")
    assert tree(home) == set()
    site.pages["/tiny-binary.tar.gz"] = ARCHIVE
    files.fetch("tiny")
    assert_installed(home)


def test_a_spoilt_part_is_not_kept(home: Path, site: type[Site]) -> None:
    write(home / ".tiny.incoming", {"tiny-binary.tar.gz.part": b"spoilt"})
    with pytest.raises(BadInput, match="damaged"):
        files.fetch("tiny")
    files.fetch("tiny")
    assert_installed(home)


def test_an_absent_page_and_an_absent_server_are_told(
    home: Path, site: type[Site], monkeypatch: pytest.MonkeyPatch
) -> None:
    site.pages.clear()
    with pytest.raises(BadInput, match=r"tiny-binary.tar.gz: HTTP Error 404"):
        files.fetch("tiny")
    absent = Download("http://127.0.0.1:1/x")
    monkeypatch.setitem(SOURCES, "tiny", Source(30, (absent,), LAYOUTS))
    with pytest.raises(BadInput, match=r"http://127.0.0.1:1/x: .*refused"):
        files.fetch("tiny")

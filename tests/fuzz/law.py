"""The law that every case obeys: it works or is refused in one line, in time, in its place."""

import contextlib
import io
import os
import signal
import sys
import tomllib
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import tomli_w

from airfeel.cli import main
from airfeel.cli.gains import read_gains
from airfeel.data import formats, layouts, own
from airfeel.data.sources import Item, Layout
from airfeel.errors import BadInput
from airfeel.radio.channel.trace import Trace
from airfeel.settings.load import experiment, load
from airfeel.storage.store import as_toml
from airfeel.sweeps.sweep import read_sweep
from fuzz.cases import TINY

LONGEST = 1000  # characters of a message
SECONDS = 30  # of a case; it takes milliseconds, on a busy machine more
_MD5 = "7dea362b3fac8e00956a4952a3d4f474"  # of eight zero bytes
_LAYOUT = Layout("tiny", (Item("one.bin", 8, _MD5), Item("two.bin", 8, _MD5)), "tiny.tar")


class Broken(AssertionError):
    """The law was broken; the message says how."""


@contextlib.contextmanager
def place(folder: Path) -> Iterator[Path]:
    """A folder to be in, with a file beside it that nobody may touch."""
    inside, before = folder / "inside", Path.cwd()
    inside.mkdir(parents=True, exist_ok=True)
    (folder / "outside").write_text("untouched")
    (inside / "tiny.toml").write_text(tomli_w.dumps(TINY))
    os.chdir(inside)
    try:
        yield inside
    finally:
        os.chdir(before)
    found = {path.name for path in folder.iterdir()}
    if found != {"inside", "outside"} or (folder / "outside").read_text() != "untouched":
        raise Broken(f"written outside of its folder: {found}")


def check(kind: str, case: object) -> str | None:
    """Try one case in the current folder; returns the message by which it was refused, if any.

    Raises Broken where it ends in any other way.
    """

    def late(*_: object) -> None:
        raise Broken(f"took more than {SECONDS} s")

    old = signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", RuntimeWarning)  # of numbers, beside the one line
            TRIES[kind](case)
    except BadInput as error:
        return _one_line(str(error))
    except Broken:
        raise
    except BaseException as error:
        raise Broken(f"{type(error).__name__}: {error}") from error
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, old)
    return None


def _one_line(message: str) -> str:
    if not message.strip() or len(message.splitlines()) != 1 or len(message) > LONGEST:
        raise Broken(f"not one line of at most {LONGEST} characters: {message!r}")
    return message


def _config(table: dict) -> None:
    made = experiment(table)
    if experiment(tomllib.loads(as_toml(made))) != made:
        raise Broken("written and read again, the settings are others")


def _written(name: str, use: Callable[[Path], object]) -> Callable[[str], None]:
    """Write a text, or bytes in Latin-1, to a file and use that."""

    def attempt(content: str) -> None:
        data = name.endswith((".npy", ".npz"))
        Path(name).write_bytes(content.encode("latin-1" if data else "utf-8", "surrogateescape"))
        use(Path(name))

    return attempt


def _gains(path: Path) -> None:
    for read in (lambda: Trace(str(path)).gains, lambda: read_gains(path)):
        with contextlib.suppress(BadInput):
            read()
    read_gains(path)


def _archive(case: dict) -> None:
    folder = Path("archive")
    folder.mkdir(exist_ok=True)
    path = folder / case["name"]
    path.write_bytes(case["data"].encode("latin-1"))
    try:
        found = layouts.recognise([_LAYOUT], folder) or layouts.recognise([_LAYOUT], path)
        for _ in layouts.read(*found) if found else ():
            pass
    finally:
        path.unlink()


def _arguments(arguments: list[str]) -> None:
    """As from a shell: exit code 0, or another one and a line of ours or of the usage."""
    out, err = io.StringIO(), io.StringIO()
    paths, code = list(sys.path), 0
    argv, sys.argv = sys.argv, ["airfeel", *arguments]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    finally:
        sys.argv, sys.path[:] = argv, paths
    if code:
        lines = [line for line in err.getvalue().splitlines() if "warning:" not in line]
        if lines and lines[0].startswith("airfeel: "):
            raise BadInput(_one_line("\n".join(lines).removeprefix("airfeel: ")))
        if not any(word in err.getvalue() + out.getvalue() for word in ("Usage:", "─ Error ─")):
            raise Broken(f"exit code {code} with {err.getvalue()[-300:]!r}")


TRIES: dict[str, Callable] = {
    "config": _config,
    "settings file": _written("settings.toml", load),
    "override": lambda text: load("tiny.toml", [text]),
    "sweep": _written("sweep.toml", lambda path: read_sweep(path, Path("sweep"))),
    "trace": _written("trace.npy", _gains),
    "npz": _written("own.npz", lambda path: own.file(str(path))),
    "archive": _archive,
    "images": lambda c: getattr(formats, c["form"])(c["data"].encode("latin-1"), "a file"),
    "arguments": _arguments,
}

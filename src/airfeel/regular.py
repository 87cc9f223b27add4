"""Open regular files alone: a pipe or a device would be waited for, without an end."""

import os
import stat
from io import BufferedReader
from pathlib import Path

_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def opened(path: Path) -> BufferedReader:
    """Open a regular file to read bytes; OSError where it is none, at once."""
    handle = os.open(path, _FLAGS | getattr(os, "O_CLOEXEC", 0))
    try:
        mode = os.fstat(handle).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(21, "is a folder", str(path))
        if not stat.S_ISREG(mode):
            raise OSError(22, "is no regular file", str(path))
    except OSError:
        os.close(handle)
        raise
    return open(handle, "rb")


def data(path: Path) -> bytes:
    """All bytes of a regular file."""
    with opened(path) as file:
        return file.read()


def text(path: Path) -> str:
    """All text of a regular file in UTF-8, line ends as they are read anywhere."""
    return data(path).decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")


def check(path: Path) -> Path:
    """The path of a regular file, for what opens it by its name; OSError where it is none."""
    opened(path).close()
    return path

"""Buffers in a file that has no name: it goes with the process, however that ends."""

import math
import mmap
import os
import shutil
import tempfile
from typing import IO

import torch
from torch import Tensor

from airfeel.errors import BadInput

_PIECE = bytes(1 << 20)


def on_disk(shape: tuple[int, int], dtype: torch.dtype) -> Tensor:
    """Zeros [rows D] in a temporary file, whose disk space is taken now.

    A file with holes would take its space when a page is first written; on a full disk that is a
    SIGBUS in the middle of a round.
    """
    size = math.prod(shape) * dtype.itemsize
    try:
        with tempfile.TemporaryFile(prefix="airfeel-memory-") as file:
            _take(file, size)
            return torch.frombuffer(mmap.mmap(file.fileno(), size), dtype=dtype).view(shape)
    except (OSError, OverflowError) as error:
        folder = tempfile.gettempdir()
        free = shutil.disk_usage(folder).free
        raise BadInput(
            f'run.memory = "file": needs {size / 1e9:,.3g} GB in {folder}, where {free / 1e9:,.3g} '
            f"GB are free ({getattr(error, 'strerror', None) or error}); set TMPDIR to another disk"
        ) from error


def _take(file: IO[bytes], size: int) -> None:
    """Make a file as long as `size` bytes, on the disk and not only by name."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, size)
    else:
        while (left := size - file.tell()) > 0:
            file.write(_PIECE[:left])
        file.flush()

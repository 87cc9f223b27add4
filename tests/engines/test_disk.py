"""Memory in a file: its space is taken beforehand, or one line says what is lacking."""

import os
import resource
import subprocess
import tempfile

import pytest
import torch

import airfeel
from airfeel.engines.disk import _PIECE, on_disk
from airfeel.types import BadInput
from small import small


@pytest.fixture
def limit():
    """Files may not become longer than a megabyte: what a full disk is, without one."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_the_space_is_taken_before_anything_is_written(monkeypatch):
    taken = []
    real = os.posix_fallocate
    monkeypatch.setattr(
        os, "posix_fallocate", lambda *a: (real(*a), taken.append(os.fstat(a[0]).st_blocks * 512))
    )
    buffer = on_disk((3, 100_000), torch.float64)
    assert taken[0] >= 3 * 100_000 * 8
    assert buffer.shape == (3, 100_000)
    assert not buffer.any()
    buffer += 1.0
    assert buffer.sum() == 300_000


@pytest.mark.parametrize("size", [1, len(_PIECE), 2 * len(_PIECE) + 24])
def test_where_the_system_cannot_take_space_zeros_are_written(monkeypatch, size):
    monkeypatch.delattr(os, "posix_fallocate")
    assert on_disk((size, 1), torch.float32).numel() == size


@pytest.mark.parametrize("by_writing", [False, True])
def test_a_full_disk_is_one_line_and_leaves_nothing(monkeypatch, tmp_path, limit, by_writing):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    if by_writing:
        monkeypatch.delattr(os, "posix_fallocate")
    told = rf'run.memory = "file": needs 0.008 GB in {tmp_path}, where .* GB are free \(File too'
    with pytest.raises(BadInput, match=told):
        on_disk((2, 1_000_000), torch.float32)
    assert not list(tmp_path.iterdir())


def test_a_run_whose_memory_does_not_fit_is_refused(monkeypatch, tmp_path, limit):
    e = small(model={"hidden": 2000}, run={"memory": "file"})
    with pytest.raises(BadInput, match=r'run.memory = "file": needs '):
        airfeel.run(e)


def test_more_than_any_disk_holds_is_one_line_too():
    with pytest.raises(BadInput, match="needs 4e\\+10 GB"):
        on_disk((10**10, 10**9), torch.float32)


@pytest.fixture
def full_disk(tmp_path):
    """A disk of a megabyte."""
    made = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(tmp_path)]
    if subprocess.run(made, capture_output=True, check=False).returncode:
        pytest.skip("a disk can be mounted by root only")
    yield tmp_path
    subprocess.run(["umount", "-l", str(tmp_path)], check=True)


def test_on_a_disk_that_is_really_full(monkeypatch, full_disk):
    monkeypatch.setattr(tempfile, "tempdir", str(full_disk))
    with pytest.raises(BadInput, match=r"0.00105 GB are free \(No space left on device\)"):
        on_disk((2, 1_000_000), torch.float32)
    assert not list(full_disk.iterdir())

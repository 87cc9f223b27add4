"""The door to compiled kernels: how an array goes through it."""

import ctypes
from pathlib import Path

import numpy as np
import pytest
import torch

from airfeel import compiled
from airfeel.compiled import COUNT, FUSED, Kernel, Numbers

SOURCE = """
#include <cstdint>
extern "C" __attribute__((visibility("default")))
void airfeel_double(const double* x, int64_t n, double* y) {
    for (int64_t i = 0; i < n; ++i) y[i] = 2 * x[i];
}
"""
READ, WRITTEN = Numbers(np.float64), Numbers(np.float64, written=True)


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kernel")
    (folder / "kernel.cpp").write_text(SOURCE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        kernel = Kernel(folder, FUSED, {"double": (None, (READ, COUNT, WRITTEN))})
        if kernel.missing:
            pytest.skip(kernel.missing)
    return kernel


def doubled(kernel, x):
    y = np.empty(x.shape)
    kernel["double"](x, y.size, y)
    return y


@pytest.mark.parametrize("shape", [(0,), (1,), (3, 4)])
def test_any_type_and_layout_can_be_read(kernel, shape):
    x = np.arange(np.prod(shape), dtype=float).reshape(shape)
    frozen = x.copy()
    frozen.flags.writeable = False
    for same in (x, np.asfortranarray(x), np.repeat(x, 2, axis=0)[::2], frozen):
        np.testing.assert_array_equal(doubled(kernel, same), 2 * x)
    for kind in (np.float32, np.int64, ">f8"):
        np.testing.assert_array_equal(doubled(kernel, x.astype(kind)), 2 * x)


def test_a_tensor_is_read_and_written_where_it_lies(kernel):
    x, y = torch.arange(5.0, dtype=torch.float64), torch.empty(5, dtype=torch.float64)
    kernel["double"](x, 5, y)
    assert y.tolist() == [0.0, 2.0, 4.0, 6.0, 8.0]


def test_what_would_be_written_to_a_copy_is_refused(kernel):
    frozen = np.empty(4)
    frozen.flags.writeable = False
    for y in (np.empty(8)[::2], np.empty(4, np.float32), frozen):
        with pytest.raises(ctypes.ArgumentError, match="cannot be written to"):
            kernel["double"](np.ones(4), 4, y)


def test_a_kernel_that_does_not_compile_is_missing_and_says_why(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "kernel.cpp").write_text("#error on purpose")
    kernel = Kernel(Path(tmp_path), FUSED, {"double": (None, ())})
    assert kernel.missing is not None
    with pytest.raises(compiled.BuildError):
        kernel["double"]

"""The native kernel's door: what it refuses and why, and how it is built."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from native_problems import needs_kernel, problem, solve
from torch import Tensor, nn

from airfeel import compiled
from airfeel.training import native
from airfeel.types import BadInput


def still(p: dict[str, Any], field: int = 0, value: int = 0) -> np.ndarray:
    """Moves that change nothing, but for one field of the last sample."""
    moves = np.zeros((*p["batches"].shape, 7), np.int32)
    moves[-1, -1, -1, field] = value
    return moves


BAD: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "theta-short": lambda p: {"theta": p["theta"][:-1]},
    "theta-float64": lambda p: {"theta": p["theta"].double()},
    "theta-strided": lambda p: {"theta": torch.stack([p["theta"], p["theta"]], 1)[:, 0]},
    "theta-meta": lambda p: {"theta": p["theta"].to("meta")},
    "x-shape": lambda p: {"x": p["x"][:, :, 1:].copy()},
    "x-int32": lambda p: {"x": p["x"].astype(np.int32)},
    "x-transposed": lambda p: {"x": p["x"][::-1]},
    "y-count": lambda p: {"y": p["y"][1:]},
    "y-int32": lambda p: {"y": p["y"].astype(np.int32)},
    "y-negative": lambda p: {"y": p["y"] - 100},
    "y-large": lambda p: {"y": p["y"] + 100},
    "batches-large": lambda p: {"batches": p["batches"] + 40},
    "batches-negative": lambda p: {"batches": p["batches"] - 40},
    "batches-flat": lambda p: {"batches": p["batches"][0]},
    "batches-empty": lambda p: {"batches": p["batches"][:, :, :0]},
    "batches-stepless": lambda p: {"batches": p["batches"][:, :0]},
    "moves-shape": lambda p: {"moves": still(p)[0]},
    "moves-int64": lambda p: {"moves": still(p).astype(np.int64)},
    "moves-far": lambda p: {"moves": still(p, 0, p["x"].shape[2] + 1)},
    "moves-far-left": lambda p: {"moves": still(p, 1, -p["x"].shape[3] - 1)},
    "moves-flip": lambda p: {"moves": still(p, 2, 2)},
    "moves-high-box": lambda p: {"moves": still(p, 3, -1)},
    "moves-low-box": lambda p: {"moves": still(p, 5, p["x"].shape[2] + 1)},
    "moves-wide-box": lambda p: {"moves": still(p, 6, p["x"].shape[3] + 1)},
    "moves-turned-box": lambda p: {"moves": still(p, 3, 1)},
    "terms-nan": lambda p: {"terms": native.Terms(weight_decay=float("nan"))},
    "terms-inf": lambda p: {"terms": native.Terms(clip_norm=float("inf"))},
    "keep-wide": lambda p: {"keep": np.ones((*p["batches"].shape[:2], 7), np.uint8)},
    "keep-bool": lambda p: {"keep": np.ones((*p["batches"].shape[:2], 0), bool)},
    "learning_rate-nan": lambda p: {"learning_rate": float("nan")},
    "shift-short": lambda p: {"shift": p["shift"][:-1]},
    "scale-float64": lambda p: {"scale": p["scale"].astype(float)},
    "out-shape": lambda p: {"out": torch.empty(2, len(p["theta"]))},
    "out-theta": lambda p: {"out": p["theta"][None]},
    "out-strided": lambda p: {"out": torch.empty(1, 2 * len(p["theta"]))[:, ::2]},
}


@needs_kernel
@pytest.mark.parametrize("case", BAD)
def test_bad_input_raises_and_names_the_argument(case: str) -> None:
    p = problem(1)
    with pytest.raises(BadInput, match=f"^{case.split('-')[0]}: ") as caught:
        solve(p, **BAD[case](p))
    assert "\n" not in str(caught.value)


@needs_kernel
def test_a_read_only_out_raises() -> None:
    out = np.empty((1, len(problem(1)["theta"])), np.float32)
    out.flags.writeable = False
    with pytest.raises(BadInput, match=r"^out: read-only"):
        solve(problem(1), out=out)


def head(features: int) -> list[nn.Module]:
    return [nn.Flatten(), nn.Linear(features, 3)]


shared = nn.Linear(6, 6)
UNSUPPORTED: dict[str, tuple[nn.Module, str]] = {
    "tanh": (nn.Sequential(nn.Tanh(), *head(128)), "not one of"),
    "norm": (nn.Sequential(nn.BatchNorm2d(2), *head(128)), "not one of"),
    "dropout": (nn.Sequential(nn.Dropout(0.5), *head(128)), "not one of"),
    "stride": (nn.Sequential(nn.Conv2d(2, 4, 3, stride=2), *head(36)), "stride"),
    "groups": (nn.Sequential(nn.Conv2d(2, 4, 3, groups=2), *head(144)), "groups"),
    "dilation": (nn.Sequential(nn.Conv2d(2, 4, 3, dilation=2), *head(64)), "dilation"),
    "oblong": (nn.Sequential(nn.Conv2d(2, 4, (3, 1)), *head(192)), "square"),
    "padding": (nn.Sequential(nn.Conv2d(2, 4, 3, padding=(1, 0)), *head(192)), "all sides"),
    "even same": (nn.Sequential(nn.Conv2d(2, 4, 2, padding="same"), *head(256)), "odd"),
    "wrap": (nn.Sequential(nn.Conv2d(2, 4, 3, padding_mode="circular"), *head(144)), "zeros"),
    "channels": (nn.Sequential(nn.Conv2d(3, 4, 3), *head(144)), "2 channels"),
    "vanishes": (nn.Sequential(nn.Conv2d(2, 4, 9), *head(4)), "nothing is left"),
    "pool 3": (nn.Sequential(nn.MaxPool2d(3), *head(8)), "must be 2"),
    "pool ceil": (nn.Sequential(nn.MaxPool2d(2, ceil_mode=True), *head(32)), "ceil_mode"),
    "flat pool": (nn.Sequential(nn.Flatten(), nn.MaxPool2d(2), nn.Linear(32, 3)), "Flatten"),
    "flat conv": (nn.Sequential(nn.Flatten(), nn.Conv2d(2, 4, 1), nn.Linear(32, 3)), "Flatten"),
    "unflattened": (nn.Sequential(nn.Linear(8, 3)), "flattened"),
    "partly flat": (nn.Sequential(nn.Flatten(2), nn.Linear(64, 3)), "flatten all"),
    "features": (nn.Sequential(nn.Flatten(), nn.Linear(64, 3)), "128 features"),
    "no logits": (nn.Sequential(nn.Conv2d(2, 4, 3)), "last layer"),
    "empty": (nn.Sequential(), "last layer"),
    "shared": (nn.Sequential(nn.Flatten(), nn.Linear(128, 6), shared, shared), "share"),
    "huge": (nn.Sequential(nn.Flatten(), nn.Linear(128, 2**23, device="meta")), "too large"),
    "broad": (nn.Sequential(nn.Conv2d(2, 2**16, 1, device="meta"), *head(1)), "too large"),
}  # fmt: skip


@pytest.mark.parametrize("case", UNSUPPORTED)
def test_an_unsupported_network_is_refused_with_the_reason(case: str) -> None:
    module, reason = UNSUPPORTED[case]
    with pytest.raises(native.Unsupported, match=reason):
        native.describe(module, (2, 8, 8))


def test_a_frozen_network_is_refused() -> None:
    module = nn.Sequential(*head(128)).requires_grad_(False)
    with pytest.raises(native.Unsupported, match="frozen"):
        native.describe(module, (2, 8, 8))


def test_a_subclass_with_its_own_forward_is_refused() -> None:
    class Twice(nn.Linear):
        def forward(self, input: Tensor) -> Tensor:
            return 2 * super().forward(input)

    with pytest.raises(native.Unsupported, match="not one of"):
        native.describe(nn.Sequential(nn.Flatten(), Twice(128, 3)), (2, 8, 8))


def test_without_a_compiler_the_reason_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def reason() -> str:
        return str(compiled.Kernel(native.KERNEL.folder, compiled.FUSED, {}).missing)

    monkeypatch.setenv("CXX", "no-such-compiler")
    assert "no-such-compiler" in reason()
    monkeypatch.delenv("CXX")
    monkeypatch.setenv("PATH", "")
    assert "no C++ compiler" in reason()


@needs_kernel
def test_a_failed_build_says_why_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(compiled.BuildError, match=r"failed: .*no-such-flag"):
        compiled.build(native.KERNEL.folder, tmp_path, ("--no-such-flag",))
    assert not list(tmp_path.iterdir())


@needs_kernel
def test_two_builders_at_once_leave_one_library(tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as pool:
        build = lambda flag: compiled.build(native.KERNEL.folder, tmp_path, (flag,))
        paths = set(pool.map(build, ["-O0", "-O0"]))
    assert set(tmp_path.iterdir()) == paths
    assert len(paths) == 1


def test_the_cache_follows_xdg(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert compiled.cache_directory() == tmp_path / "airfeel" / "native"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert compiled.cache_directory() == tmp_path / ".cache" / "airfeel" / "native"

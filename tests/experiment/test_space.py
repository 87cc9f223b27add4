"""What does not fit is refused in one line before it is allocated; what fits is not."""

import os
import resource
from pathlib import Path

import pytest

import airfeel
from airfeel.build import memory_check
from airfeel.build.setup import build
from airfeel.settings.load import load
from airfeel.types import BadInput
from small import small

MEGA = 10**6


def test_a_round_worked_out_by_hand():
    """6 devices, 8 sub-channels, 3 steps of 8, float64, D = 1000, a memory beside each update."""
    rest = 16 * 6 * 8 + 120 * 6 + 16 * 3 * 8
    assert memory_check.needed(small(), 1000) == 6 * 1000 * 2 * 8 + rest
    assert memory_check.needed(small(), 1000, buffers=0) == 6 * 1000 * 8 + rest
    assert memory_check.needed(small(), 1000, invited=2) == 6 * 1000 * 8 + rest
    assert memory_check.needed(small(), 1000, invited=4) == 4 * 1000 * 2 * 8 + rest
    assert memory_check.needed(small(training={"rounds": 1}), 1000) == 6 * 1000 * 8 + rest


@pytest.mark.parametrize(
    ("kind", "ram", "disk"), [("ram", 16, 0), ("bfloat16", 10, 0), ("file", 8, 8)]
)
def test_each_kind_of_memory_has_its_size(kind, ram, disk):
    e = small(run={"memory": kind})
    assert memory_check.round_needs(e, MEGA, 1, 6)[0].bytes == 6 * MEGA * ram
    assert memory_check.file_need(e, MEGA, 1).bytes == 6 * MEGA * disk


@pytest.mark.parametrize(
    "changes",
    [
        {"training": {"device": "cuda"}},
        {"run": {"engine": "ray", "address": "ray://elsewhere:1"}},
    ],
)
def test_devices_that_are_trained_elsewhere_need_nothing_here(changes):
    assert memory_check.round_needs(small(**changes), MEGA, 1, 6)[0].bytes == 0


def peak():
    """The most that was resident since it was last asked for, in bytes."""
    status = Path("/proc/self/status").read_text()
    Path("/proc/self/clear_refs").write_text("5")
    return 1024 * int(status.partition("VmHWM:")[2].split()[0])


@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="needs Linux' /proc")
@pytest.mark.parametrize("scheme", ["tcs-h", "tcs-d", "fedavg"])
@pytest.mark.parametrize("kind", ["ram", "bfloat16"])
def test_the_estimate_is_below_what_a_run_takes_but_not_by_far(scheme, kind):
    e = small(
        scheme,
        model={"hidden": 40_000},
        training={"devices": 40, "rounds": 2, "local_steps": 1, "dtype": "float32"},
        run={"memory": kind, "threads": 1},
    )
    setup = build(e)
    everyone = 40 if scheme != "tcs-d" else e.scheduled
    estimate = memory_check.needed(
        e, setup.world.dim, len(setup.scheme.codec.memory.buffers), everyone
    )
    peak()
    before = peak()
    airfeel.run(e)
    taken = peak() - before
    assert estimate > 80 * MEGA
    assert estimate / 1.1 < taken < 8 * estimate


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (
            ["training.devices=1000000000"],
            "training.devices = 1000000000, radio.subchannels = 25: ",
        ),
        (
            ["radio.subchannels=100000000000"],
            "radio.subchannels = 100000000000: the gains",
        ),
        (
            ["model.hidden=1000000000"],
            "with 75,000,000,010 parameters of model.name = 'mlp': an",
        ),
        (["model.hidden=1000000000000000000"], "model.hidden = 1000000000000000000: too large"),
        (
            ["training.batch_size=100000000000"],
            "training.batch_size = 100000000000: a device's",
        ),
        (["data.dataset=synthetic", "data.samples=100000000000"], "data.samples = 100000000000, "),
        (["data.dataset={name='synthetic',samples=100000000000}"], "data.samples = 100000000000, "),
    ],
)
def test_sizes_beyond_memory_are_one_line(settings, told, tmp_path):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(BadInput) as refused:
        airfeel.run(load("digits-tcs-h", settings), tmp_path / "run")
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "run").exists()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500_000  # KiB


def test_a_memory_larger_than_the_disk_is_refused_before_a_folder_is_made(monkeypatch, tmp_path):
    usage = memory_check.shutil.disk_usage(tmp_path)
    monkeypatch.setattr(memory_check.shutil, "disk_usage", lambda _: usage._replace(free=1000))
    with pytest.raises(BadInput, match=r"run.memory = file, .*: the memory would take .* free in"):
        airfeel.run(small(run={"memory": "file"}), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_what_fits_into_what_there_is_is_not_refused():
    needs = memory_check.round_needs(small(), 1000, 1, 6)
    total = sum(need.bytes for need in needs)
    memory_check.check(needs, total)
    memory_check.check(needs, None)
    with pytest.raises(BadInput):
        memory_check.check(needs, total // 2)


def machine(root, available="1000", swap="0", groups="", **limits):
    """The files by which a system tells of its memory."""
    (root / "proc/self").mkdir(parents=True)
    told = f"MemTotal: 9 kB\nMemAvailable:   {available} kB\nSwapFree:  {swap} kB\n"
    (root / "proc/meminfo").write_text(told)
    (root / "proc/self/cgroup").write_text(groups)
    for place, limit in limits.items():
        path = root / "sys/fs/cgroup" / place.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(limit)
    return root


def test_available_is_ram_and_swap(tmp_path):
    assert memory_check.available(machine(tmp_path, "1000", "24")) == 1024 * 1024


@pytest.mark.parametrize(
    ("groups", "limits", "there"),
    [
        ("0::/a/b\n", {"a__b__memory_dot_max": "5000\n"}, 5000),
        ("0::/a/b\n", {"a__b__memory_dot_max": "max\n", "a__memory_dot_max": "70"}, 70),
        ("0::/\n", {"memory_dot_max": "max\n"}, 1000 * 1024),
        ("4:cpu,memory:/a\n0::/\n", {"memory__a__memory.limit_in_bytes": "600"}, 600),
        ("4:memory:/gone\n", {"memory__memory.limit_in_bytes": "600"}, 600),
    ],
)
def test_a_control_group_may_allow_less(tmp_path, groups, limits, there):
    assert memory_check.available(machine(tmp_path, groups=groups, **limits)) == there


def test_where_the_system_does_not_tell_all_the_ram_counts(tmp_path):
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert memory_check.available(tmp_path) == pages

"""What was run: shared settings once, differences by group, and a command that repeats it."""

import shlex

import pytest

from airfeel.analysis.groups import deciding
from airfeel.reports import runs
from airfeel.reports.page import told
from airfeel.reports.ran import what_was_run
from airfeel.settings.load import load
from stored import store

EVIL = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def groups(tmp_path_factory):
    folder = tmp_path_factory.mktemp("some runs")  # a space, to be quoted
    for seed in (0, 1):
        store(folder / f"a{seed}", "tcs-h", seed)
        store(folder / f"b{seed}", "tcs-h", seed, scheme={"bits": 8})
    return runs.load([folder])[0]


def test_shared_settings_stand_once_and_differences_by_group(groups):
    ran = what_was_run(groups)
    shared = dict(ran.shared)
    assert shared["devices N"] == "6"
    assert shared["seeds"] == "0, 1"
    assert int(shared["parameters d"].replace(",", "")) > 0
    assert "bits per value q" not in shared
    assert ran.differing == ["bits per value q"]
    assert sorted(values[0] for values in ran.by_group.values()) == ["6", "8"]
    assert not {name for name, _ in ran.rest} & {"scheme.bits", "run.seed", "training.devices"}
    where = dict(ran.where)
    assert "torch" in where["versions"]
    assert "cores" in where["machine"]


def test_the_command_leads_to_the_very_settings(groups):
    (command,) = what_was_run(groups).commands
    words = shlex.split(command)
    assert words[:2] == ["airfeel", "compare"]
    paths = words[2 : words.index("--seeds")]
    assert words[words.index("--seeds") + 1] == "0,1"
    for path, members in zip(paths, groups.values(), strict=True):
        assert deciding(load(path)) == deciding(members[0].experiment)


def test_runs_without_facts_are_told_as_such(groups, tmp_path):
    for members in groups.values():
        for run in members:
            (run.folder / "facts.json").rename(run.folder / "facts.away")
    try:
        where = dict(what_was_run(groups).where)
    finally:
        for members in groups.values():
            for run in members:
                (run.folder / "facts.away").rename(run.folder / "facts.json")
    assert set(where.values()) == {"not on record"}


def test_no_text_becomes_markup(groups):
    hostile = {EVIL: next(iter(groups.values()))}
    for text in told(hostile).values():
        assert EVIL not in text

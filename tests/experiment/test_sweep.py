"""Sweeps: what a file stands for, and that one failed or killed run does not stop the others."""

import pytest

import airfeel
from airfeel.runs.signals import Interrupted, Signals
from airfeel.sweeps.compare import folder_of
from airfeel.sweeps.sweep import Sweep, read_sweep
from airfeel.types import BadInput
from small import small

HEAD = 'base = "base.toml"\nseeds = [0, 1]\n'


@pytest.fixture
def folder(tmp_path):
    from airfeel.settings.relevance import as_toml

    (tmp_path / "base.toml").write_text(as_toml(small(training={"rounds": 3})))
    return tmp_path


def sweep(folder, text):
    (folder / "s.toml").write_text(text)
    return read_sweep(folder / "s.toml", folder / "out")


def test_grid_times_seeds_and_list(folder):
    trials = sweep(
        folder,
        HEAD + '[grid]\nscheme.bits = [4, 8]\n"radio.noise" = [1e-6]\n'
        '[[list]]\nscheme.name = "top-k"\n',
    )
    labels = [t.label for t in trials]
    assert labels == ["bits=4,noise=1e-06"] * 2 + ["bits=8,noise=1e-06"] * 2 + ["name=top-k"] * 2
    assert [t.experiment.run.seed for t in trials] == [0, 1] * 3
    assert trials[2].experiment.scheme.bits == 8
    assert trials[4].experiment.scheme.name == "top-k"
    assert len({t.folder for t in trials}) == 6


def test_settings_of_one_name_in_two_sections_are_told_apart(folder):
    points = "[[list]]\ndata.alpha = 2.0\n[[list]]\nradio.alpha = 2.0\n"
    trials = sweep(folder, HEAD + points)
    assert [t.label for t in trials[::2]] == ["data.alpha=2.0", "radio.alpha=2.0"]
    assert [t.folder.name.split("-seed")[0] for t in trials[::2]] == ["alpha=2.0"] * 2  # as ever


def test_what_all_points_share_is_in_no_label_but_in_the_folder_as_ever(folder):
    trials = sweep(folder, HEAD + "[grid]\nscheme.bits = [4, 8]\nradio.noise = [1e-6]\n")
    assert [t.label for t in trials[::2]] == ["bits=4", "bits=8"]
    assert trials[0].folder.name.startswith("bits=4,noise=1e-06-seed0-")


def test_base_alone_is_one_point(folder):
    assert [t.label for t in sweep(folder, HEAD)] == ["base", "base"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a = [", "is not a TOML file"),
        ("seed = [1]", "seed is no key of a sweep"),
        ("seeds = 3", "must be a list such as"),
        ("seeds = []", "must be a list such as"),
        ("seeds = [0, 1, 0]", "seeds holds 0 twice"),
        ("seeds = [true]", "must be a list such as"),
        ('seeds = ["0..4"]', "must be a list such as"),
        ("base = 3", "must be a preset or a TOML file"),
        ("grid = 3", "must be a table of lists"),
        ("list = [3]", "must be tables"),
        ("[grid]\nrun.seed = [5, 6]", "run.seed: is no setting of a point; write seeds"),
        ('[grid]\n"run.seed" = [5, 6]', "run.seed: is no setting of a point; write seeds"),
        ("[[list]]\nrun.seed = 5", "run.seed: is no setting of a point; write seeds"),
        ("[grid]\nscheme.bits = [4, 4]", "bits=4: is asked for twice with seed"),
        ('base = "nothing.toml"', "neither a preset"),
        ("[grid]\nscheme.bits = 4", "must be a list of values"),
        ("[grid]\nscheme.bits = [1]", "scheme.bits = 1"),
        ("[grid]\nscheme.bitz = [8]", "did you mean 'bits'"),
    ],
)
def test_bad_sweeps(folder, text, words):
    with pytest.raises(BadInput, match=words.replace(".", r"\.")):
        sweep(folder, text)


def quiet(sweep):
    pass


def test_runs_equal_those_carried_out_one_by_one(folder):
    trials = sweep(folder, HEAD + "[grid]\nscheme.bits = [4, 8]\n")
    airfeel.run(trials[0].experiment, trials[0].folder)  # found done, and left alone
    before = (trials[0].folder / "rounds.csv").stat().st_mtime_ns
    work = Sweep(trials, workers=2)
    work.play(Signals(), quiet)
    assert not work.faults
    assert (trials[0].folder / "rounds.csv").stat().st_mtime_ns == before
    assert {k: len(v) for k, v in work.runs().items()} == {"bits=4": 2, "bits=8": 2}
    alone = airfeel.run(trials[3].experiment, folder / "alone").folder
    texts = [(f / "rounds.csv").read_text().splitlines() for f in (alone, trials[3].folder)]
    ours, theirs = ([line.rsplit(",", 1)[0] for line in text] for text in texts)
    assert ours == theirs


class _Job:
    def __init__(self, answers):
        self.answers = answers

    def poll(self):
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    def stop(self):
        self.answers[:] = ["stopped"]


def test_a_failed_run_does_not_stop_the_others(folder):
    trials = sweep(folder, HEAD + "[grid]\nscheme.bits = [4, 8]\n")
    started = []

    def start(trial):
        started.append(trial.folder)
        return _Job([None, "its process ended with code -9" if trial is trials[1] else ""])

    work = Sweep(trials, workers=1, start=start)
    work.play(Signals(), quiet, seconds=0)
    assert started == [t.folder for t in trials]
    assert work.faults == {trials[1].folder: "its process ended with code -9"}


def test_a_real_worker_that_fails_says_why(folder):
    trials = sweep(folder, HEAD)
    trials[0].folder.parent.mkdir(parents=True)
    trials[0].folder.write_text("in the way")
    work = Sweep(trials, workers=2)
    work.play(Signals(), quiet)
    assert "already holds something" in work.faults[trials[0].folder]
    assert trials[1].done


def test_a_signal_stops_what_runs_and_starts_nothing_more(folder):
    trials = sweep(folder, HEAD)
    signals = Signals()

    def start(trial):
        signals.received = 2
        return _Job([None])

    work = Sweep(trials, workers=1, start=start)
    with pytest.raises(Interrupted):
        work.play(signals, quiet, seconds=0)
    assert list(work.faults) == [trials[0].folder]


def test_folders_are_named_by_what_decides_the_result(folder):
    e = small()
    same = e.model_copy(update={"run": e.run.model_copy(update={"threads": 3})})
    other = small(scheme={"bits": 7})
    assert folder_of(folder, "a", e) == folder_of(folder, "a", same)
    assert folder_of(folder, "a", e) != folder_of(folder, "a", other)

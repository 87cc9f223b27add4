"""A run that starves says so: before its first round, while it runs, at the end and in tables."""

import math
import warnings

import numpy as np
import pytest

import airfeel
from airfeel.analysis.ranking import starving
from airfeel.build.setup import build
from airfeel.engines.threads import Threads
from airfeel.round import start
from airfeel.runs.starvation import Hunger, Starving, Watch, hunger, rehearse, verdict, words
from airfeel.settings.load import load
from airfeel.storage.run import Run
from small import small

LOUD = {"power_scalar": 60.0}


def columns(scheduled, needed=math.nan, budget=math.nan):
    """Rows of some rounds after round 0; medians in every one of them."""
    count = len(scheduled)
    return {
        "round": np.arange(count + 1),
        "scheduled": np.array([0, *scheduled]),
        "needed_median": np.array([math.nan, *np.broadcast_to(needed, count)]),
        "budget_median": np.array([math.nan, *np.broadcast_to(budget, count)]),
        "resource_blocks": np.arange(count + 1),
        "test_accuracy": np.zeros(count + 1),
    }


def test_the_sentence_of_a_run_that_heard_nobody_in_23_of_40_rounds():
    """12 times the energy at σ = 5: at σ ≤ 5/√12 = 1.443 half of the devices could speak."""
    rows = columns([0] * 23 + [3] * 17, needed=[24.0] * 23 + [1.0] * 17, budget=2.0)
    assert verdict(small(radio={"power_scalar": 5.0}), rows) == (
        "nobody was heard in 23 of 40 rounds: devices needed 12 times the energy allowed; "
        "try radio.power_scalar ≤ 1.4 (it is 5), 12 times the radio.power, "
        "or a smaller training.learning_rate"
    )


TWENTY = small(training={"devices": 20}, radio={"power_scalar": 5.0})


def test_the_sentence_of_a_run_that_hears_two_of_twenty_devices_in_the_end():
    rows = columns([20] * 75 + [2, 0, 1, 5, 2] * 5, needed=[1.0] * 75 + [8.0] * 25, budget=2.0)
    assert verdict(TWENTY, rows) == (
        "at most 5 of 20 devices were heard in the last 25 of 100 rounds: devices needed 4 times "
        "the energy allowed; try radio.power_scalar ≤ 2.5 (it is 5), 4 times the radio.power, "
        "or a smaller training.learning_rate"
    )


@pytest.mark.parametrize(
    ("scheduled", "needed"),
    [
        ([2] * 29 + [6], 8.0),  # they come back
        ([20] * 11 + [2] * 19, 8.0),  # not for long
        ([20] * 271 + [2] * 29, 8.0),
        ([2] * 30, 1.0),  # few are asked to speak, and could
        ([2] * 30, math.nan),
    ],
)
def test_few_devices_are_nothing_to_speak_of_unless_the_others_could_not_afford_it_any_more(
    scheduled, needed
):
    assert verdict(TWENTY, columns(scheduled, needed=needed, budget=2.0)) is None


def test_while_it_runs_a_warning_comes_once_hardly_anybody_is_heard():
    scheduled = [20] * 4 + [1] + [20] * 235 + [2] * 50
    rows = columns(scheduled, needed=8.0, budget=2.0)
    watch, said = Watch(), []
    watch.begin(TWENTY, build(TWENTY).world)
    for t in range(len(scheduled) + 1):
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            watch.row({name: values[t].item() for name, values in rows.items()})
        said += [str(w.message) for w in heard]
    assert [words.partition(": devices")[0] for words in said] == [
        "round 267: at most 5 of 20 devices were heard in the last 27 rounds"
    ]


def test_the_excess_is_the_median_over_silent_rounds():
    rows = columns([0, 4, 0, 0], needed=[4.0, 99.0, 8.0, 40.0], budget=[2.0, 1.0, 2.0, 2.0])
    assert hunger(rows) == Hunger(silent=3, rounds=4, excess=4.0)


@pytest.mark.parametrize(
    ("silent", "rounds", "starves"), [(2, 2, False), (3, 3, True), (9, 100, False), (10, 100, True)]
)
def test_a_few_silent_rounds_are_nothing_to_speak_of(silent, rounds, starves):
    assert Hunger(silent, rounds, math.nan).starving is starves


@pytest.mark.parametrize("budget", [math.nan, 0.0, math.inf, 200.0])
def test_where_the_energy_is_not_the_reason_none_is_made_up(budget):
    said = verdict(small(), columns([0] * 5, needed=100.0, budget=budget))
    assert said == "nobody was heard in 5 of 5 rounds: devices.csv says why"


def test_rows_without_medians_are_judged_too():
    rows = {name: columns([0] * 4)[name] for name in ("round", "scheduled")}
    assert hunger(rows).silent == 4


def test_a_scalar_that_changes_is_to_be_scaled():
    e = small(radio={"power_scalar": [4.0] * 12})
    assert "try radio.power_scalar at 0.5 of what it is" in words(e, Hunger(5, 5, 4.0))


def carried_out(e, *arguments):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        run = airfeel.run(e, *arguments)
    assert all(w.category is Starving for w in said)
    return run, [str(w.message) for w in said]


def test_a_starving_run_warns_before_while_and_after(tmp_path):
    run, (before, during, after) = carried_out(small(radio=LOUD), tmp_path / "run")
    assert before.startswith("nobody may be heard: devices will need about ")
    assert during.startswith("round 3: nobody was heard in 3 of the last 3 rounds: devices needed ")
    assert after.startswith("nobody was heard in 12 of 12 rounds: devices needed ")
    assert run.summary["silent_rounds"] == 12
    assert after == verdict(run.experiment, run.rounds)


def test_following_the_advice_helps():
    _, (*_, after) = carried_out(small(radio=LOUD))
    scalar = float(after.partition("≤ ")[2].split()[0])
    run, said = carried_out(small(radio={"power_scalar": scalar}))
    assert not said
    assert run.summary["scheduled_mean"] > 1.0


def test_the_rehearsal_is_about_what_the_first_round_needs():
    e = small(radio=LOUD)
    run, (before, *_) = carried_out(e)
    told = float(before.partition("about ")[2].split()[0].replace(",", ""))
    first = run.rounds["needed_median"][1] / run.rounds["budget_median"][1]
    assert told == pytest.approx(first, rel=0.5)


def test_the_rehearsal_throws_no_die_of_the_run(monkeypatch):
    setup = build(small())
    engine = Threads(setup.world, 1)
    state = start(setup.scheme, setup.world, setup.streams, engine)
    engine.close()
    kept = [state.theta.clone(), state.update.clone(), dict(state.carry)]
    thrown, real = [], type(setup.streams)._at
    monkeypatch.setattr(
        type(setup.streams), "_at", lambda s, *a, **k: (thrown.append(s.seed), real(s, *a, **k))[1]
    )
    assert rehearse(small(), setup, state) is None
    assert thrown
    assert set(thrown) == {small().run.seed + 1}
    assert state.theta.equal(kept[0])
    assert state.update.equal(kept[1])
    assert state.carry == kept[2]


@pytest.mark.parametrize("name", ["tcs-h", "tcs-d", "top-k", "fedavg"])
def test_no_preset_of_the_demo_is_said_to_starve(name):
    run, said = carried_out(load(f"digits-{name}", ["training.rounds=20"]))
    assert not said
    assert run.summary["silent_rounds"] == 0


def test_tables_name_the_schemes_that_starved():
    e = small(radio={"power_scalar": 5.0})
    seeds = [e, e.model_copy(update={"run": e.run.model_copy(update={"seed": 7})})]
    bad = [columns([2, 0, 0, 0], 24.0, 2.0), columns([0, 0, 0, 0], 24.0, 2.0)]
    groups = {
        "fine": [Run(e, columns([2, 0, 2]), {})],
        "one": [Run(e, bad[0], {})],
        "two": [Run(e, rows, {}) for e, rows in zip(seeds, bad, strict=True)],
    }
    one, two = starving(groups)
    assert one.startswith("one starved: nobody was heard in 3 of 4 rounds: devices needed 12 times")
    assert two.startswith(
        "two starved in 2 of 2 runs, most with seed 7: nobody was heard in 4 of 4"
    )
    assert two.endswith("or a smaller training.learning_rate.")


def test_tables_tell_first_of_runs_in_which_nobody_was_heard():
    few = columns([2] * 20, 8.0, 2.0)
    nobody = columns([20] * 17 + [0] * 3, 8.0, 2.0)
    (told,) = starving({"both": [Run(TWENTY, rows, {}) for rows in (few, nobody)]})
    assert "both starved in 2 of 2 runs" in told
    assert "nobody was heard in 3 of 20 rounds" in told

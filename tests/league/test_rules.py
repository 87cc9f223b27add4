"""League files: what they stand for, and what is refused by name."""

from pathlib import Path

import pytest

from airfeel.analysis.groups import varied
from airfeel.settings.load import load
from airfeel.sweeps.benchmark.rules import names, read_league
from airfeel.types import BadInput

TEXT = """
base = "digits"
slots = [200, 400]
seeds = [0, 1, 2]
set = {"data.partition" = "iid", training.rounds = 4}
[tuning]
seeds = [8, 9]
points = 4
[contenders.air]
scheme = "tcs-h"
set = {"scheme.local_sparsity" = 0.01}
[contenders.air.try]
"radio.power_scalar" = [0.5, 1.5]
scheme.global_sparsity = [0.02, 0.1]
[contenders.top]
scheme = "top-k"
"""


def league(folder: Path, text: str = TEXT):
    path = folder / "small.toml"
    path.write_text(text)
    return read_league(str(path))


def test_a_contender_tries_all_combinations_of_its_lists(tmp_path):
    rules = league(tmp_path)
    air, top = rules.contenders
    assert [c.label for c in rules.contenders] == ["air", "top"]
    assert len(air.points) == 4
    assert air.points[1] == {"radio.power_scalar": 0.5, "scheme.global_sparsity": 0.1}
    assert top.points == [{}]


def test_a_run_has_what_all_share_what_is_given_and_what_is_tried(tmp_path):
    rules = league(tmp_path)
    e = rules.experiment(rules.contenders[0], rules.contenders[0].points[1], 400, 7)
    assert (e.scheme.name, e.data.partition, e.training.rounds) == ("tcs-h", "iid", 4)
    assert (e.scheme.local_sparsity, e.scheme.global_sparsity) == (0.01, 0.1)
    assert (e.radio.power_scalar, e.slots, e.run.seed) == (0.5, 400, 7)


def test_tuning_runs_are_evaluated_on_training_samples_and_the_table_is_not(tmp_path):
    rules = league(tmp_path, TEXT.replace("points = 4", "points = 4\nvalidation = 0.25"))
    run = rules.contenders[0], rules.contenders[0].points[1], 400, 8
    tuning, final = rules.tuning_run(*run), rules.experiment(*run)
    assert (tuning.data.validation, final.data.validation) == (0.25, 0.0)
    assert varied([tuning, final]) == ["data.validation"]
    assert league(tmp_path).validation == 0.1


def test_an_own_scheme_starts_from_the_base_alone(tmp_path):
    rules = league(tmp_path, TEXT.replace('"top-k"', '"mine:build"'))
    e = rules.experiment(rules.contenders[1], {}, 200, 7)
    assert e.scheme.name == "mine:build"
    plain = load("digits-tcs-h", data__partition="iid", training__rounds=4, budget__slots=200)
    assert varied([e, plain]) == ["scheme.name"]


def test_a_league_can_be_narrowed(tmp_path):
    rules = league(tmp_path).narrowed(["top"], [5], [100])
    assert [c.label for c in rules.contenders] == ["top"]
    assert (rules.seeds, rules.slots) == ((5,), (100,))
    with pytest.raises(BadInput, match=r"--schemes tap: does not play; legal are air, top"):
        league(tmp_path).narrowed(["tap"])
    with pytest.raises(BadInput, match=r"seed 9 is in tuning\.seeds too"):
        league(tmp_path).narrowed(seeds=[7, 9])


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("base", "bass", "bass: is no key of a league; legal are base, contenders"),
        ("points", "ponts", "tuning.ponts: is no key"),
        ("scheme =", "scheem =", "contenders.air.scheem: is no key"),
        ('scheme = "top-k"', "scheme = 3", "contenders.top.scheme = 3: must be the name of"),
        ('"tcs-h"', '"tcs-hh"', "digits-tcs-hh: is neither a preset"),
        ("points = 4", "points = 3", "contenders.air.try: 4 combinations; tuning.points allows"),
        ("seeds = [8, 9]", "seeds = [1, 9]", "seed 1 is in tuning.seeds too"),
        (
            "seeds = [8, 9]",
            "seeds = []",
            r"seeds = \[\]: must name at least 2 seeds to tune",
        ),
        (
            "seeds = [8, 9]",
            "seeds = [9]",
            r"tuning.seeds = \[9\]: must name at least 2 seeds",
        ),
        (
            "points = 4",
            "points = 4\nvalidation = 0",
            "tuning.validation = 0: must be a number above 0",
        ),
        (
            "points = 4",
            "points = 4\nvalidation = 1.0",
            "tuning.validation = 1.0: must be a number ab",
        ),
        (
            "training.rounds = 4",
            "data.validation = 0.1",
            "data.validation: must not be set for air",
        ),
        ("seeds = [0, 1, 2]", "seeds = [0, 0]", "seeds = .0, 0.: must be a list of different"),
        ("seeds = [0, 1, 2]", "seeds = [0, true]", "must be a list of different whole numbers"),
        ("seeds = [0, 1, 2]", 'seeds = "0..2"', "must be a list of different whole numbers"),
        ("slots = [200, 400]", "slots = [0]", "slots = .0.: must be a list of different whole"),
        ("slots = [200, 400]", "slots = []", "must name at least one each"),
        ("[0.5, 1.5]", "0.5", "try.radio.power_scalar = 0.5: must be a list of values"),
        ("[0.5, 1.5]", "[0.5, -1]", "radio.power_scalar"),
        ("local_sparsity", "local_sparsty", "scheme.local_sparsty: is no setting"),
        ('"digits"', "1", "base = 1: must be the name of a preset"),
        ("[tuning]", "[tuning", "is not a TOML file that can be read"),
    ],
)
def test_what_is_wrong_is_named_in_one_line(tmp_path, old, new, words):
    assert old in TEXT
    with pytest.raises(BadInput, match=words) as caught:
        league(tmp_path, TEXT.replace(old, new, 1))
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_is_no_league(tmp_path):
    with pytest.raises(BadInput, match=r"nosuch: is neither a league .* nor a file"):
        read_league("nosuch")


@pytest.mark.parametrize("name", names())
def test_leagues_of_the_package_can_be_played(name):
    assert len(read_league(name).contenders) > 2


@pytest.mark.parametrize("path", sorted(Path("experiments").rglob("*.toml")), ids=str)
def test_leagues_of_the_experiments_can_be_played(path):
    assert len(read_league(str(path)).seeds) >= 3

import math

import numpy as np
import pytest
from made_rows import made_run

from airfeel.reports.runs import read
from airfeel.reproduce import claims
from airfeel.reproduce.curves import SETS, curves, essence, match, pick
from airfeel.reproduce.measures import Reach, accuracy, gain_within, rounds_within
from airfeel.reproduce.paper_claims import CLAIMS
from airfeel.settings.load import load
from airfeel.storage import store
from airfeel.theory import contraction
from airfeel.types import BadInput

KNOWN = curves()


def claim(text, split="iid"):
    (one,) = [c for c in CLAIMS if c.split == split and c.text.startswith(text)]
    return one


def judged(folder, text, split="iid"):
    return claims.judge(claim(text, split), match([folder], KNOWN.values())[0], KNOWN)


# --- the curves


def test_every_curve_is_the_papers():
    for name, curve in KNOWN.items():
        e = curve.experiment
        iid = name.startswith("iid")
        assert (e.data.partition, e.training.local_steps, curve.rounds) == (
            ("iid", 10, 3000) if iid else ("classes", 1, 20000)
        )
        assert (e.training.devices, e.training.batch_size, e.training.learning_rate) == (
            20,
            64,
            0.05,
        )
        if e.scheme.name in ("tcs-d", "top-k"):
            assert e.scheme.scheduled == (13 if iid else 11)
    assert KNOWN["iid-tcs-h-wide"].label == "TCS-H (0.5, 0.05)"
    assert KNOWN["iid-tcs-h-thin"].label == "TCS-H (0.2, 0.0001)"
    assert KNOWN["noniid-sparse-top-k"].label == "Top-K (0.01, 0.0025)"
    assert {name for names in SETS.values() for name in names} == {*KNOWN} - {"iid-tcs-h-q4"}
    assert {c for one in CLAIMS for c in one.curves} <= {*SETS["all"]}


def test_the_curves_that_most_claims_rest_on_run_first():
    short = [name.removeprefix("noniid-") for name in SETS["all"][:4]]
    assert short == ["tcs-h", "tcs-d", "top-k", "fedavg"]
    assert all(name.startswith("noniid") for name in SETS["all"][:4])
    iid = [name.removeprefix("iid-") for name in SETS["all"][4:10]]
    assert iid == ["tcs-h", "tcs-d", "top-k", "tcs-h-wide", "tcs-h-thin", "fedavg"]


# Of the time when every curve was a file of its own; the version is part of a fingerprint.
FINGERPRINTS = {
    "iid-fedavg": "649900060e4c",
    "iid-tcs-d": "b4b66a216e98",
    "iid-tcs-h": "a03794a20e45",
    "iid-tcs-h-q4": "950ed259919a",
    "iid-tcs-h-q8": "fa4b76083c93",
    "iid-tcs-h-thin": "96ac4560d8cd",
    "iid-tcs-h-thin-q4": "6be24a211351",
    "iid-tcs-h-wide": "ef434acb97f7",
    "iid-top-k": "2226ab144dc5",
    "noniid-fedavg": "18a343d47933",
    "noniid-sparse-tcs-d": "3e1549045875",
    "noniid-sparse-tcs-h": "7a4fce0afd11",
    "noniid-sparse-top-k": "ddf7954c2c40",
    "noniid-tcs-d": "94d8847837eb",
    "noniid-tcs-h": "d77e2a784d55",
    "noniid-top-k": "1d39e3248ec1",
}


def test_a_table_of_differences_makes_the_very_settings_that_whole_files_did(monkeypatch):
    monkeypatch.setattr(store, "VERSION", "0.1.0")
    stated = curves(bare=True)
    assert {name: store.fingerprint(c.experiment) for name, c in stated.items()} == FINGERPRINTS


def test_curves_and_presets_have_the_recipe_and_bare_ones_the_stated_settings():
    stated = curves(bare=True)
    for name, curve in KNOWN.items():
        assert curve.experiment.data.augment == ("crop", "flip")
        assert stated[name].experiment.data.augment == ()
        recipe = curve.experiment.data.model_copy(update={"augment": ()})
        assert curve.experiment.model_copy(update={"data": recipe}) == stated[name].experiment
    for scheme in ("tcs-h", "obda"):
        assert load(f"paper-iid-{scheme}").data.augment == ("crop", "flip")
        assert load(f"paper-iid-{scheme}-bare").data.augment == ()
    with pytest.raises(BadInput, match="digits-tcs-h-bare: is neither a preset"):
        load("digits-tcs-h-bare")


def test_runs_with_the_recipe_and_bare_ones_are_different_curves(tmp_path):
    made_run(tmp_path / "run", "iid-tcs-h", 20)
    assert list(match([tmp_path], KNOWN.values())[0]) == ["iid-tcs-h"]
    assert match([tmp_path], curves(bare=True).values())[0] == {}


@pytest.mark.parametrize("split", ["iid", "noniid"])
@pytest.mark.parametrize("scheme", ["tcs-h", "tcs-d", "top-k", "fedavg"])
def test_presets_are_the_same_curves(split, scheme):
    preset = load(f"paper-{split}-{scheme}")
    assert essence(preset) == essence(KNOWN[f"{split}-{scheme}"].experiment)


def test_lemma_1_allows_all_bits_but_those_said_to_be_outside():
    for name, curve in KNOWN.items():
        s = curve.experiment.scheme
        sizes = [round(share * 258_898) for share in (s.global_sparsity, s.local_sparsity)]
        if s.name == "tcs-h" and name != "iid-tcs-h-q4":
            assert contraction(*sizes, bits=s.bits, dim=258_898) > 0
    with pytest.raises(BadInput, match="k_local = 12945: must be below"):
        contraction(51_780, 12_945, bits=4, dim=258_898)
    (told,) = [note for note in claims.bits_sheet({}, KNOWN, []).notes if "iid-tcs-h-q4" in note]
    assert "12,945" in told


def test_only_named_curves():
    assert [c.name for c in pick("iid", ["iid-tcs-h-q4"])] == ["iid-tcs-h-q4"]
    with pytest.raises(BadInput, match="--only iid-tcs-x: must be one of iid-tcs-h, "):
        pick("iid", ["iid-tcs-x"])


# --- which runs belong to them


def test_runs_are_matched_by_what_decides_them(tmp_path):
    made_run(tmp_path / "long", "iid-tcs-h", 40)
    short = made_run(tmp_path / "short", "iid-tcs-h", 20)
    made_run(tmp_path / "seed", "iid-tcs-h", 20, seed=4)
    other = made_run(tmp_path / "other", "iid-tcs-d", 20)
    text = (other / "config.toml").read_text("utf-8")
    (other / "config.toml").write_text(text.replace("scheduled = 13", "scheduled = 12"), "utf-8")
    made_run(tmp_path / "empty", "iid-top-k", 0)
    found, spare = match([tmp_path, short], KNOWN.values())
    assert {k: [(r.folder.name, r.experiment.run.seed) for r in v] for k, v in found.items()} == {
        "iid-tcs-h": [("long", 0), ("seed", 4)]
    }
    assert {r.folder.name for r in spare} == {"short", "other"}
    with pytest.raises(BadInput, match="nowhere: must be a run's folder"):
        match([tmp_path / "nowhere"], KNOWN.values())


# --- claims


@pytest.mark.parametrize(
    ("text", "value", "complete", "verdict"),
    [
        ("share of the devices", 0.68, True, claims.HOLDS),
        ("share of the devices", 0.72, True, claims.FAILS),
        ("share of the devices", 0.65, False, claims.NOT_REACHED),
        ("TCS-D less Top-K, accuracy after", -1.9, True, claims.HOLDS),
        ("TCS-D less Top-K, accuracy after", -1.9, False, claims.SAME),
        ("TCS-D less Top-K, accuracy after", 2.1, True, claims.FAILS),
        ("TCS-D less Top-K, accuracy after", 2.1, False, claims.AGAINST),
        ("resource blocks saved by TCS-H against", 64.0, True, claims.HOLDS),
        ("resource blocks saved by TCS-H against", 50.0, True, claims.SAME),
        ("resource blocks saved by TCS-H against", 68.0, False, claims.SAME),
        ("resource blocks saved by TCS-H against", -1.0, True, claims.FAILS),
        ("resource blocks saved by TCS-H against", -1.0, False, claims.AGAINST),
        ("TCS-H less TCS-D", 0.0, True, claims.HOLDS),
        ("TCS-H less TCS-D", 9.0, False, claims.SAME),
        ("TCS-H less TCS-D", -0.1, True, claims.FAILS),
        ("FedAvg", 3.0, True, claims.REFERENCE),
        ("TCS-H less TCS-D", math.nan, True, claims.NOT_REACHED),
    ],
)
def test_verdicts(text, value, complete, verdict):
    assert claims.weigh(claim(text), value, complete, over=complete) == verdict


@pytest.mark.parametrize(
    ("text", "value", "verdict"),
    [
        ("share of the devices", 0.65, claims.NOT_REACHED),
        ("share of the devices", 0.72, claims.FAILS),
        ("TCS-D less Top-K, accuracy after", 0.0, claims.SAME),
        ("TCS-D less Top-K, accuracy after", 2.1, claims.FAILS),
        ("resource blocks saved by TCS-H against", 68.0, claims.SAME),
        ("resource blocks saved by TCS-H against", -1.0, claims.FAILS),
        ("TCS-H less TCS-D", 9.0, claims.SAME),
        ("TCS-H less TCS-D", -0.1, claims.FAILS),
    ],
)
def test_a_run_that_ended_before_the_papers_length_never_says_that_a_claim_holds(
    text, value, verdict
):
    assert claims.weigh(claim(text), value, complete=False, over=True) == verdict


def test_complete_curves_are_judged_by_number(tmp_path):
    made_run(tmp_path / "h", "iid-tcs-h", 3000, top=0.8, heard=13, digital=22_000)
    made_run(tmp_path / "d", "iid-tcs-d", 3000, top=0.79, heard=13, digital=75_000)
    saved = judged(tmp_path, "resource blocks saved by TCS-H against TCS-D")
    assert saved.value == pytest.approx(100 * (1 - 24_072 / 75_000))
    assert (saved.verdict, saved.reached) == (claims.HOLDS, "3,000 of 3,000 rounds")
    share = judged(tmp_path, "share of the devices")
    assert (share.value, share.verdict, share.seeds) == (pytest.approx(0.65), claims.HOLDS, 1)
    assert "first tenth 0.65, last tenth 0.65" in share.reached
    order = judged(tmp_path, "TCS-H less TCS-D")
    assert order.verdict == claims.HOLDS
    assert judged(tmp_path, "FedAvg").reached == "no run of iid-fedavg"


def test_shortened_curves_show_a_direction_over_paired_seeds(tmp_path):
    for seed in (0, 1, 2):
        made_run(tmp_path / f"h{seed}", "iid-tcs-h", 100, seed, top=0.7 + 0.01 * seed)
        made_run(tmp_path / f"k{seed}", "iid-tcs-h-thin", 80, seed, top=0.69)
    made_run(tmp_path / "k9", "iid-tcs-h-thin", 80, 9, top=0.2)  # a seed that only one has run
    thin = judged(tmp_path, "TCS-H at φ[l]")
    climb = 100 * (1 - math.exp(-0.8))
    assert thin.reached == "80 of 3,000 rounds"
    assert thin.value == pytest.approx(-climb * 0.02, abs=1e-9)
    assert thin.spread == pytest.approx(climb * 0.01, abs=1e-9)
    assert (thin.verdict, thin.seeds) == (claims.SAME, 3)


def test_seeds_that_do_not_meet(tmp_path):
    made_run(tmp_path / "h", "iid-tcs-h", 20, 0)
    made_run(tmp_path / "d", "iid-tcs-d", 20, 1)
    none = judged(tmp_path, "TCS-H less TCS-D")
    assert (none.verdict, none.seeds) == (claims.NOT_REACHED, 0)


def test_a_budget_is_read_where_it_ends_or_where_the_rounds_do(tmp_path):
    a = read(made_run(tmp_path / "a", "noniid-sparse-tcs-h", 100, digital=0, air=4, top=0.9))
    b = read(made_run(tmp_path / "b", "noniid-sparse-top-k", 100, digital=40, every=1, top=0.5))
    partly, wholly = (
        Reach(100, 10_000.0, complete, seen_blocks=10_000.0) for complete in (False, True)
    )
    assert rounds_within(20_000)([b], wholly) == 20
    assert math.isnan(rounds_within(20_000)([b], partly))
    first = accuracy(a, "resource_blocks", 10_000.0)
    assert gain_within(20_000)([a, b], wholly) == pytest.approx(
        first - accuracy(b, "resource_blocks", 20_000)
    )
    assert gain_within(20_000)([a, b], partly) == pytest.approx(
        first - accuracy(b, "resource_blocks", 10_000)
    )


def test_a_stalled_run_has_had_its_say(tmp_path):
    how = {"air": 104, "digital": 800, "heard": lambda t: 12 if t < 50 else 0}
    made_run(tmp_path / "h", "noniid-sparse-tcs-h", 150, reason="stalled", **how)
    heard = judged(tmp_path, "devices that TCS-H hears", "sparse")
    assert heard.verdict == claims.FAILS
    assert heard.value == pytest.approx(12 * 49 / 150)
    assert "tcs-h stalled after 150" in heard.reached
    assert judged(tmp_path, "accuracy of TCS-D", "sparse").verdict == claims.NOT_REACHED


def test_a_stalled_run_near_the_papers_number_does_not_make_a_claim_hold(tmp_path):
    how = {"heard": lambda t: 11 if t < 50 else 0}
    made_run(tmp_path / "h", "noniid-tcs-h", 51, reason="stalled", **how)
    heard = judged(tmp_path, "devices that TCS-H hears", "noniid")
    assert heard.value == pytest.approx(11 * 49 / 51)  # within 1 of the paper's 11
    assert heard.verdict == claims.NOT_REACHED
    made_run(tmp_path / "d", "noniid-tcs-d", 20_000, every=1000, reason="rounds")
    gain = judged(tmp_path, "TCS-H less TCS-D", "noniid")
    assert gain.verdict == claims.FAILS  # one ended by itself, the other is as long as the paper's
    assert judged(tmp_path, "rounds of TCS-H", "noniid").value == 51


@pytest.mark.parametrize("longer", [30, 80])
def test_where_one_ended_by_itself_nothing_later_is_compared(tmp_path, longer):
    made_run(tmp_path / "d", "iid-tcs-d", longer, air=0, digital=100, top=0.9)
    behind = made_run(tmp_path / "h", "iid-tcs-h", 50, air=0, digital=100, top=0.3)
    assert judged(tmp_path, "TCS-H less TCS-D").verdict == claims.AGAINST  # it may go on
    (behind / "summary.json").write_text('{"reason": "stalled", "rounds": 50}')
    settled = claims.FAILS if longer > 50 else claims.AGAINST
    assert judged(tmp_path, "TCS-H less TCS-D").verdict == settled


@pytest.mark.parametrize(("longer", "verdict"), [(900, claims.HOLDS), (500, claims.SAME)])
def test_past_the_blocks_of_a_complete_run_another_is_long_enough(tmp_path, longer, verdict):
    made_run(tmp_path / "h", "iid-tcs-h", 3000, air=0, digital=20, top=0.9, every=50)
    made_run(tmp_path / "d", "iid-tcs-d", longer, air=0, digital=100, top=0.7)  # at 600: the same
    assert judged(tmp_path, "TCS-H less TCS-D").verdict == verdict
    saved = judged(tmp_path, "resource blocks saved by TCS-H against TCS-D")
    assert saved.verdict == claims.SAME  # of equal rounds that says nothing


def test_past_the_blocks_of_a_run_that_may_go_on_nothing_is_settled(tmp_path):
    made_run(tmp_path / "h", "iid-tcs-h", 2999, air=0, digital=20, top=0.9, every=50)
    made_run(tmp_path / "d", "iid-tcs-d", 3000, air=0, digital=100, top=0.7, every=50)
    assert judged(tmp_path, "TCS-H less TCS-D").verdict == claims.SAME


@pytest.mark.parametrize(
    ("heard", "rounds", "verdict", "words"),
    [
        (2, 1320, claims.NOT_REACHED, "rounds"),  # 0.604 if everybody were heard from now on
        (2, 1400, claims.FAILS, "0.05 to 0.58 in the end, whatever follows"),
        (20, 2000, claims.NOT_REACHED, "rounds"),
        (20, 2200, claims.FAILS, "0.73 to 1.00 in the end, whatever follows"),
        (13, 2999, claims.NOT_REACHED, "rounds"),
    ],
)
def test_a_share_is_decided_where_no_rest_could_change_it(tmp_path, heard, rounds, verdict, words):
    made_run(tmp_path / "h", "iid-tcs-h", rounds, heard=heard, every=100)
    share = judged(tmp_path, "share of the devices")
    assert share.verdict == verdict
    assert words in share.reached
    assert ("in the end" in share.reached) == (verdict == claims.FAILS)


def test_accuracy_is_a_mean_of_the_last_looks(tmp_path):
    one = read(made_run(tmp_path / "a", "iid-tcs-h", 100, every=5))
    y = one.columns["test_accuracy"]
    assert accuracy(one, "round", 100) == pytest.approx(100 * np.mean(y[[90, 95, 100]]))
    assert accuracy(one, "round", 5) == pytest.approx(100 * y[5])
    assert math.isnan(accuracy(one, "round", 9))  # the last evaluation is 4 rounds old
    assert math.isnan(accuracy(one, "round", 4))  # the start says nothing of a scheme


# --- running

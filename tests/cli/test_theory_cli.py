"""`airfeel theory`: the bound, its terms, and how they move."""

import pytest
import typer
from typer.testing import CliRunner

from airfeel.cli.theory import theory
from airfeel.theory import contraction, convergence_bound
from airfeel.types import BadInput

SMALL = {
    "k-global": 30,
    "k-local": 10,
    "bits": 6,
    "dim": 100,
    "devices": 4,
    "local-steps": 2,
    "batch-size": 8,
    "noise": 0.5,
    "smoothness": 3.0,
    "convexity": 1.5,
    "gradient2": 7.0,
    "distance2": 2.0,
    "rounds": 500,
    "a": 90.0,
}


def call(**options):
    app = typer.Typer(rich_markup_mode=None)
    app.command()(theory)
    arguments = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    result = CliRunner().invoke(app, arguments, env={"COLUMNS": "80"})
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0
    assert max(map(len, result.output.splitlines())) <= 80
    return result.output


def rows(output):
    """The table's numbers by the name of what changed."""
    lines = [line.split() for line in output.splitlines()]
    return {" ".join(words[:-7]): words[-7:] for words in lines if len(words) in (8, 9)}


def test_prints_gamma_the_bound_and_its_terms():
    gamma = contraction(30, 10, 6, 100)
    bound = convergence_bound(
        smoothness=3.0,
        convexity=1.5,
        local_steps=2,
        batch_size=8,
        devices=4,
        gradient2=7.0,
        noise=0.5,
        k_global=30,
        gamma=gamma,
        a=90.0,
        rounds=500,
        distance2=2.0,
    )
    out = call(**SMALL)
    assert f"γ = {gamma:.6g} (Lemma 1), a = 90, T = 500" in out
    assert f"F* ≤ {bound.total:.4g} (Theorem 1)" in out
    for term in (bound.initial, bound.noise, bound.variance, bound.compression):
        assert f"{term:.4g}  " in out


def test_shows_how_the_terms_move():
    table = rows(call(**SMALL))
    gamma, noise, compression = 0, 3, 5
    number = lambda name, column: float(table[name][column])
    assert number("K[g] 15", gamma) < number("as given", gamma) < number("K[g] 60", gamma)
    assert number("K[g] 15", noise) < number("as given", noise) < number("K[g] 60", noise)
    assert number("K[l] 5", compression) > number("as given", compression)
    assert number("q 4", gamma) < number("as given", gamma) < number("q 32", gamma)
    assert number("σ0² 50", noise) == pytest.approx(100 * number("as given", noise), rel=0.01)
    assert number("N 8", noise) == pytest.approx(number("as given", noise) / 4, rel=0.01)


def test_says_why_a_change_is_not_allowed():
    out = call()
    assert "q 4: k_local = 12945: must be below 2^(2q−2) = 64" in " ".join(out.split())
    assert rows(out)["q 4"] == ["–"] * 7
    out = call(**SMALL | {"a": 65, "local-steps": 6})
    why = "K[g] 15: a = 65.0: must be finite and above max(4H/γ, 32L/μ) = 96.9"
    assert why in " ".join(out.split())
    assert rows(out)["K[g] 15"] == ["–"] * 7


def test_a_mask_fills_the_model_at_most():
    table = rows(call(**SMALL | {"k-global": 80, "k-local": 20, "a": 400}))
    assert set(table) >= {"K[g] 40", "K[l] 10"}
    assert not {"K[g] 160", "K[l] 40"} & set(table)


@pytest.mark.parametrize(
    ("change", "words"),
    [({"bits": 1}, "bits = 1"), ({"a": 3.0}, "a = 3.0"), ({"k-local": 80}, "k_local = 80")],
)
def test_bad_input_is_one_line(change, words):
    with pytest.raises(BadInput, match=words) as error:
        call(**SMALL | change)
    assert "\n" not in str(error.value)

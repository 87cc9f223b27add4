import math

import numpy as np
import pytest

from airfeel.radio.allocation.allocators.paper import Paper
from airfeel.radio.transmission.digital import divide
from airfeel.reproduce.accounting import account
from airfeel.reproduce.slots import (
    Estimate,
    Uplink,
    draw_skies,
    mean,
    ratio,
    spend_later,
)
from airfeel.streams import Streams
from airfeel.types import BadInput, Fading

UPLINK = Uplink()


@pytest.fixture(scope="module")
def book():
    return account(24)


@pytest.fixture(scope="module")
def skies():
    return draw_skies(UPLINK, 6, seed=5)


def found(book, claim, setting):
    (line,) = [x for x in book.lines if x.claim.startswith(claim) and x.setting == setting]
    return line


def test_what_a_round_sends_is_what_the_paper_counts():
    d, q = 258_898, 16
    costs = {s: UPLINK.cost(s, 0.2, 0.05) for s in ("tcs-h", "tcs-d", "top-k")}
    assert costs["tcs-h"].air == math.ceil(51_780 / 25) == 2072
    assert costs["tcs-h"].bits == pytest.approx(12_945 * (math.log2(d) + q))
    assert costs["tcs-d"].bits == pytest.approx(51_780 * q + 12_945 * (math.log2(d) + q))
    assert costs["top-k"].bits == pytest.approx(64_725 * (math.log2(d) + q))
    assert costs["tcs-d"].air == costs["top-k"].air == 0


@pytest.mark.parametrize("n", [1, 11, 12, 13, 20])
def test_slots_are_those_of_the_librarys_own_allocation(skies, n):
    cost = UPLINK.cost("tcs-d", 0.2, 0.05)
    streams, power = Streams(5), np.full(20, UPLINK.power)
    for i in range(6):
        fading = Fading(UPLINK.sky(streams, i + 1), UPLINK.noise)
        any_n = divide(np.arange(n), power, fading, np.full(20, cost.bits), Paper())
        assert cost.slots(skies.any[i, n : n + 1])[0] == any_n.slots
        price = (1.0 / fading.gain2).sum(axis=1)
        first = np.sort(np.argsort(price, kind="stable")[:n])
        cheap = divide(first, power, fading, np.full(20, cost.bits), Paper())
        assert cost.slots(skies.cheap[i, n : n + 1])[0] == cheap.slots


def test_the_power_rule_takes_the_share_it_is_asked_for(skies):
    heard = skies.afford(0.65)
    assert heard.mean() == pytest.approx(13, abs=0.2)
    assert (skies.afford(0.65, 2.5) >= heard).all()
    for price, n in zip(skies.price, heard, strict=True):
        assert (np.sort(price)[:n] <= np.quantile(skies.price, 0.65)).all()


def test_nobody_heard_takes_no_slots(skies):
    assert (UPLINK.cost("tcs-h", 0.2, 0.05).slots(skies.any[:, 0]) == 0).all()


def test_savings(book):
    every = found(book, "TCS-H (0.2, 0.05)", "13 heard in every round")
    assert every.ours[0].value == pytest.approx(0.627, abs=0.01)
    assert every.verdict == "same direction"
    spread = found(book, "TCS-H (0.2, 0.05)", "10…16 heard, evenly")
    assert spread.ours[0].value == pytest.approx(0.683, abs=0.01)
    assert spread.verdict == "holds"
    wide = found(book, "TCS-H (0.5, 0.05)", "13 heard in every round")
    assert wide.ours[0].value == pytest.approx(0.763, abs=0.01)
    assert wide.verdict == "holds"


def test_the_ratio_follows_from_the_bits(book):
    line = found(book, "rounds of TCS-D for one of Top-K", "11 heard in every round")
    log = math.log2(258_898)
    assert line.ours[0].value == pytest.approx(5 * (log + 16) / (5 * 16 + log), rel=1e-3)
    assert line.verdict == "holds"


@pytest.mark.parametrize(
    ("setting", "tcs_d", "verdict"),
    [
        ("reading A; exactly 11, static power", 12_770, "holds"),
        ("reading A; exactly 11, unspent energy later", 13_390, "holds"),
        ("reading A; exactly 11, power P̄·20/11", 13_590, "holds"),
        ("reading A; each with p = 0.55, static power", 11_230, "does not hold"),
        ("reading B; exactly 11, static power", 15_970, "does not hold"),
        ("reading B; each with p = 0.55, static power", 14_030, "does not hold"),
    ],
)
def test_rounds_within_the_budget(book, setting, tcs_d, verdict):
    line = found(book, "rounds of TCS-D / Top-K", setting)
    assert line.ours[0].value == pytest.approx(tcs_d, rel=0.01)
    assert line.ours[1].value == pytest.approx(line.ours[0].value / 1.7341, rel=1e-3)
    assert line.verdict == verdict
    off = 100 * (line.ours[0].value / 13_290 - 1)
    assert line.why.startswith(f"{off:+.1f}% / ")


def test_tcs_h_ends_by_its_round_limit_in_both_readings(book):
    lines = [x for x in book.lines if x.claim.startswith("rounds of TCS-H")]
    assert len(lines) == 2
    assert all(x.ours[0].value > 20_000 and x.verdict == "holds" for x in lines)


def test_the_jump(book):
    slots = {int(row[0]): float(row[2].split()[0].replace(",", "")) for row in book.jump.rows}
    assert slots[13] > 1.6 * slots[12]
    steps = [slots[n + 1] / slots[n] for n in (*range(9, 12), *range(13, 20))]
    assert max(steps) < 1.05


def test_more_power_left_takes_fewer_slots_and_the_seed_decides():
    first = spend_later(UPLINK, 11, 400_000, 3)
    assert first == spend_later(UPLINK, 11, 400_000, 3) != spend_later(UPLINK, 11, 400_000, 4)
    assert 0.92 < first < 0.98
    # Where all speak all the time, only waiting for the slowest leaves energy over.
    assert first < spend_later(UPLINK, 20, 1_000_000, 3) < 1.0


def test_intervals_cover_what_they_should():
    rng = np.random.default_rng(0)
    hits = means = 0
    for _ in range(400):
        below = rng.gamma(20.0, size=30)
        above = 0.5 * below + rng.normal(0.0, 1.0, 30)
        r, m = ratio(above, below), mean(below)
        hits += abs(r.value - 0.5) <= r.half
        means += abs(m.value - 20.0) <= m.half
    assert 0.90 <= hits / 400 <= 0.99
    assert 0.90 <= means / 400 <= 0.99


def test_estimates_combine():
    x = Estimate(10.0, 1.0)
    assert x.per(100.0) == Estimate(10.0, 1.0)
    assert x.less() == Estimate(-9.0, 1.0)
    assert x.times(Estimate(2.0, 0.0)) == x.times(2.0) == Estimate(20.0, 2.0)


def test_fewer_than_two_draws_are_refused():
    with pytest.raises(BadInput, match="--draws 1: must be at least 2"):
        account(1)

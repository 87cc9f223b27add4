"""Laws of masks by age, by chance and in turn, and of the step that holds old entries."""

import dataclasses
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from airfeel.build.setup import build
from airfeel.compression.mask_ages import AgeTopK, Cyclic, FairK, RandK
from airfeel.compression.mask_rules import Top
from airfeel.server.hold import Hold
from airfeel.types import BadInput, Turn
from small import play, play_small, small, turn_at

SETUP = build(small())
D = SETUP.world.dim
RULES = [Top(), AgeTopK(), FairK(), RandK(), Cyclic()]


def turn(last, age, round=1):
    here = turn_at(SETUP, round)
    carry = {"age": torch.as_tensor(age, dtype=torch.float64)}
    state = dataclasses.replace(here.state, update=torch.as_tensor(last), carry=carry)
    return dataclasses.replace(here, state=state)


def drawn(seed):
    rng = np.random.default_rng(seed)
    return rng.integers(-3, 4, D).astype(float), rng.integers(0, 4, D).astype(float)


def follow(rule, k, rounds):
    """Masks of some rounds in which values move, and ages after each."""
    rng, age = np.random.default_rng(0), np.zeros(D)
    for t in range(1, rounds + 1):
        mask = rule(turn(rng.standard_normal(D), age, t), k).numpy()
        age += 1.0
        age[mask] = 0.0
        yield mask, age


@given(seed=st.integers(0, 1000), k=st.integers(0, D), rule=st.sampled_from(RULES))
def test_a_mask_is_k_distinct_sorted_entries(seed, k, rule):
    mask = rule(turn(*drawn(seed)), k).numpy()
    assert len(mask) == k
    assert (np.diff(mask) > 0).all()


@given(seed=st.integers(0, 1000), k=st.integers(1, D))
def test_without_a_place_for_age_the_rule_is_the_largest(seed, k):
    here = turn(*drawn(seed))
    assert torch.equal(AgeTopK(candidates=k)(here, k), Top()(here, k))
    assert torch.equal(FairK(large=1.0)(here, k), Top()(here, k))


@given(seed=st.integers(0, 1000))
def test_of_the_whole_model_all_rules_agree(seed):
    for rule in RULES:
        assert torch.equal(rule(turn(*drawn(seed)), D), torch.arange(D))


@given(seed=st.integers(0, 1000), k=st.integers(1, D // 2), r=st.integers(0, D))
def test_age_top_k_is_what_it_says(seed, k, r):
    last, age = drawn(seed)
    r = max(k, r)
    largest = sorted(range(D), key=lambda i: (-abs(last[i]), i))[:r]
    expected = sorted(largest, key=lambda i: (-age[i], -abs(last[i]), i))[:k]
    assert AgeTopK(candidates=r)(turn(last, age), k).tolist() == sorted(expected)


@given(seed=st.integers(0, 1000), k=st.integers(1, D), large=st.floats(0.0, 1.0))
def test_fair_k_is_what_it_says(seed, k, large):
    last, age = drawn(seed)
    first = sorted(range(D), key=lambda i: (-abs(last[i]), i))[: round(large * k)]
    rest = sorted(set(range(D)) - set(first), key=lambda i: (-age[i], -abs(last[i]), i))
    expected = first + rest[: k - len(first)]
    assert FairK(large)(turn(last, age), k).tolist() == sorted(expected)


@pytest.mark.parametrize("rule", [AgeTopK(candidates=D), FairK(large=0.0), Cyclic()])
@pytest.mark.parametrize("k", [7, 20, 50])
def test_by_age_alone_every_entry_comes_within_so_many_rounds(rule, k):
    seen = set()
    for mask, _ in follow(rule, k, math.ceil(D / k)):
        seen |= set(mask.tolist())
    assert seen == set(range(D))


@settings(max_examples=10)
@given(k=st.integers(4, 40), large=st.floats(0.0, 0.9))
def test_under_fair_k_no_entry_waits_longer_than_its_bound(k, large):
    by_age = k - round(large * k)
    if by_age:
        bound = math.ceil(D / by_age)
        assert all(age.max() <= bound for _, age in follow(FairK(large), k, 3 * bound))


def test_by_chance_every_entry_comes_equally_often():
    count, rounds, k = np.zeros(D), 2000, 30
    for mask, _ in follow(RandK(), k, rounds):
        count[mask] += 1
    share = k / D
    error = 5.0 * np.sqrt(share * (1.0 - share) / rounds)
    np.testing.assert_allclose(count / rounds, share, atol=error)


@pytest.mark.parametrize("mask", ["age-top-k", "fair-k"])
def test_ages_are_those_of_the_masks_that_were_sent(mask):
    age = np.zeros(D)
    for _, after, report, _ in play_small("tcs-h", 6, scheme={"mask": mask, "step": "hold"}):
        if report.plan.active.any():
            age += 1.0
            age[after.support.numpy()] = 0.0
        np.testing.assert_array_equal(after.carry["age"].numpy(), age)


@given(seed=st.integers(0, 1000), k=st.integers(1, D))
def test_rules_by_size_look_at_the_newest_values_where_they_are_kept_else_at_the_update(seed, k):
    last, age = drawn(seed)
    other, _ = drawn(seed + 1)
    at_update, at_other = turn(last, age), turn(other, age)
    carry = {**at_other.state.carry, "newest": torch.as_tensor(last)}
    held = dataclasses.replace(at_other, state=dataclasses.replace(at_other.state, carry=carry))
    for rule in (Top(), AgeTopK(), FairK()):
        assert torch.equal(rule(held, k), rule(at_update, k))
    largest = sorted(sorted(range(D), key=lambda i: (-abs(last[i]), i))[:k])
    assert Top()(held, k).tolist() == largest


def test_under_hold_the_mask_of_a_run_is_that_of_the_newest_values():
    """Of Hold's array and not of the last step; without Hold of the last step."""
    k, differed = 31, 0
    for before, after, _, _ in play_small("tcs-h", 6, scheme={"step": "hold"}):
        newest = np.abs(before.carry["newest"].numpy())
        assert after.support.tolist() == np.sort(np.argsort(-newest, kind="stable")[:k]).tolist()
        step = np.abs(before.update.numpy())
        differed += after.support.tolist() != np.sort(np.argsort(-step, kind="stable")[:k]).tolist()
    assert differed > 2
    for before, after, _, _ in play_small("tcs-h", 4):
        assert "newest" not in before.carry
        step = np.abs(before.update.numpy())
        assert after.support.tolist() == np.sort(np.argsort(-step, kind="stable")[:k]).tolist()


@pytest.mark.parametrize("apply", ["fresh", "all"])
def test_hold_is_that_of_a_plain_loop(apply):
    """last ← ĝ on the mask and on all own entries that were received, ĝ_0 at first.

    With memory the model moves by what came now, without by all of last.
    """
    chosen = {"step": {"name": "hold", "apply": apply}, "mask": "fair-k", "bits": 32}
    chosen |= {"memory": "none"} if apply == "all" else {}
    setup = build(small("tcs-h", scheme=chosen, radio={"noise": 1e-3}))
    learn, everyone, held, outside, last = setup.scheme.learn, np.arange(6), 0.0, set(), None
    for before, after, report, memory in play(setup, 8):
        last = before.update.tolist() if last is None else last  # ĝ_0
        here = Turn(setup.world, before, setup.streams)
        dice = setup.streams.uniform("batch", here.round, everyone, learn.dice)
        x = learn(here, everyone, dice)[0].numpy() + held
        held = memory.numpy() if apply == "fresh" else 0.0
        mask, active = after.support.tolist(), np.flatnonzero(report.plan.active)
        came = dict.fromkeys(mask, 0.0)
        for n in active:
            rest = sorted(set(range(D)) - set(mask), key=lambda i, row=x[n]: (-abs(row[i]), i))
            for i in [*mask, *rest[:10]]:  # 10 of its own
                came[i] = came.get(i, 0.0) + x[n][i] / len(active)
        z = math.sqrt(1e-3) * here.rng("air").standard_normal(len(mask))
        for i, noise in zip(mask, z, strict=True):
            came[i] += noise / max(len(active), 1)
        moved = np.zeros(D)
        for i, value in came.items() if len(active) else ():
            last[i] = moved[i] = value
        outside |= came.keys() - set(mask)
        np.testing.assert_allclose(after.carry["newest"], last, rtol=1e-9, atol=1e-12)
        if len(active):
            moved = last if apply == "all" else moved
            np.testing.assert_allclose(after.update, moved, rtol=1e-9, atol=1e-12)
    assert outside


def test_cyclic_is_in_turn_from_the_first_round_on():
    """(t·K + j) mod D, j < K."""
    for k in (1, 7, 40, D):
        for t in (1, 2, 3, 15, 1000):
            wanted = sorted((t * k + j) % D for j in range(k))
            assert Cyclic()(turn(np.zeros(D), np.zeros(D), t), k).tolist() == wanted
    for _, after, report, _ in play_small("tcs-h", 5, scheme={"mask": "cyclic"}):
        assert after.support.tolist() == sorted((report.round * 31 + j) % D for j in range(31))


@given(seed=st.integers(0, 1000), k=st.integers(1, D))
def test_left_out_candidates_are_twice_the_mask_and_three_quarters_go_by_size(seed, k):
    here = turn(*drawn(seed))
    assert torch.equal(AgeTopK()(here, k), AgeTopK(candidates=min(D, 2 * k))(here, k))
    assert torch.equal(FairK()(here, k), FairK(large=0.75)(here, k))
    last, age = (v.tolist() for v in drawn(seed))
    by_size = sorted(range(D), key=lambda i: (-abs(last[i]), i))
    large = by_size[: round(0.75 * k)]
    rest = sorted(set(range(D)) - set(large), key=lambda i: (-age[i], -abs(last[i]), i))
    assert FairK()(here, k).tolist() == sorted(large + rest[: k - len(large)])
    old = sorted(by_size[: min(D, 2 * k)], key=lambda i: (-age[i], -abs(last[i]), i))
    assert AgeTopK()(here, k).tolist() == sorted(old[:k])


def test_hold_keeps_the_newest_value_of_each_entry():
    held = small("tcs-h", scheme={"step": {"name": "hold", "apply": "all"}, "memory": "none"})
    for before, after, report, _ in play(build(held), 6):
        if report.plan.active.any():
            assert torch.equal(after.update, after.carry["newest"])
            still = after.carry["newest"] == before.carry["newest"]
            assert 0.3 < still.double().mean() < 0.9
    fresh = play_small("tcs-h", 6, scheme={"step": "hold", "mask": "rand-k"})
    plain = play_small("tcs-h", 6, scheme={"mask": "rand-k"})
    for (_, a, _, _), (_, b, _, _) in zip(fresh, plain, strict=True):
        assert torch.equal(a.theta, b.theta)
    assert not Hold().forgetful


def test_old_entries_and_memory_at_once_are_refused():
    with pytest.raises(BadInput, match=r"scheme\.step\.apply = 'all': moves the model by old"):
        build(small("tcs-h", scheme={"step": {"name": "hold", "apply": "all"}}))
    with pytest.raises(BadInput, match=r"scheme\.mask\.candidates = 3: must be at least K = 31"):
        play_small("tcs-h", 1, scheme={"mask": {"name": "age-top-k", "candidates": 3}})


def test_unbiased_rand_k_is_the_mean_of_the_whole_update_over_the_masks():
    """Without noise and all heard: each entry is 0 or D/K times the mean, K/D of the time."""
    run = {"mask": {"name": "rand-k", "unbiased": True}, "memory": "none", "local_sparsity": 0.0}
    quiet = {"noise": 1e-30, "power": 1e9}
    setup = build(small("tcs-h", scheme=run, radio=quiet))
    learn, everyone, k = setup.scheme.learn, np.arange(6), setup.scheme.codec.k_global
    for before, after, _, _ in play(setup, 3):
        turn = Turn(setup.world, before, setup.streams)
        dice = setup.streams.uniform("batch", turn.round, everyone, learn.dice)
        mean = learn(turn, everyone, dice)[0].mean(dim=0)
        wanted = torch.zeros_like(mean)
        wanted[after.support] = mean[after.support] * (setup.world.dim / k)
        torch.testing.assert_close(after.update, wanted, rtol=1e-9, atol=1e-12)


def test_unbiased_values_beside_a_memory_are_refused_by_name():
    with pytest.raises(BadInput, match=r"scheme\.mask\.unbiased = true"):
        build(small("tcs-h", scheme={"mask": {"name": "rand-k", "unbiased": True}}))

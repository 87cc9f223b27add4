"""Memories with momentum: what they are in their limits, and what they keep."""

import numpy as np
import pytest
import torch

from airfeel.build.setup import build
from airfeel.compression.momenta import Dgc, Signum
from airfeel.types import Agreed, BadInput, Delivery, Said
from small import play, play_small, small


def assert_same(one, other):
    for (_, x, _, memory), (_, y, _, again) in zip(one, other, strict=True):
        assert torch.equal(x.theta, y.theta)
        if memory.numel() and again.numel():
            assert torch.equal(memory, again)


@pytest.mark.parametrize("scheme", ["tcs-h", "top-k"])
def test_dgc_without_momentum_is_error_feedback_to_the_bit(scheme):
    dgc = {"memory": {"name": "dgc", "momentum": 0.0}}
    assert_same(play_small(scheme, 6), play_small(scheme, 6, scheme=dgc))


def test_dgc_of_everything_is_momentum_on_the_mean_update():
    all_of_it = {"scheduled": 6, "global_sparsity": 1.0, "local_sparsity": 0.0, "bits": 32}
    dgc = {"memory": {"name": "dgc", "masking": False, "momentum": 0.7}}
    one_step = {"local_steps": 1}
    ours = play_small("top-k", 6, scheme=all_of_it | dgc, training=one_step)
    heavy = {"step": {"name": "fedavgm", "beta": 0.7}}
    theirs = play_small("fedavg", 6, scheme=heavy, training=one_step)
    for (_, x, _, _), (_, y, _, _) in zip(ours, theirs, strict=True):
        torch.testing.assert_close(x.theta, y.theta, rtol=1e-9, atol=1e-12)


def test_dgc_is_a_plain_loop():
    """Two devices, of which one is silent in the second round."""
    memory, dim = Dgc(momentum=0.5), 6
    rng = np.random.default_rng(1)
    held = {name: torch.zeros(2, dim, dtype=torch.float64) for name in memory.buffers}
    u, v = np.zeros((2, dim)), np.zeros((2, dim))
    for spoke in ([True, True], [True, False], [True, True]):
        delta = torch.from_numpy(rng.standard_normal((2, dim)))
        x = torch.empty_like(delta)
        assert memory.compensate(delta, held, np.arange(2), x).all()
        said, delivery = top_two(x, np.array(spoke))
        rows = memory.changes(said, delivery)
        memory.remember(x, said, delivery, rows, held, rows)
        for n in np.flatnonzero(spoke):
            u[n] = 0.5 * u[n] + delta[n].numpy()
            v[n] += u[n]
            np.testing.assert_allclose(x[n], v[n], rtol=1e-12)
            for i in np.argsort(-np.abs(v[n]))[:2]:
                u[n][i] = v[n][i] = 0.0
        np.testing.assert_allclose(held["memory"], v, atol=1e-12)
        np.testing.assert_allclose(held["momentum"], u, atol=1e-12)


def top_two(x, spoke):
    """What devices say whose two largest entries go as they are, and what arrives of it."""
    index = x.abs().topk(2, dim=1).indices.sort(dim=1).values
    nothing, n = x[:, :0], len(x)
    said = Said(
        devices=np.arange(n),
        finite=np.ones(n, dtype=bool),
        agreed=Agreed(torch.zeros(0, dtype=torch.int64)),
        common=nothing,
        index=index,
        value=x.gather(1, index),
        bits=np.ones(n),
        energy=np.zeros((n, 1)),
        loss=np.zeros(n),
    )
    return said, Delivery(spoke)


@pytest.mark.parametrize("masking", [True, False])
def test_dgc_keeps_the_rest_of_values_that_were_sent_in_part(masking):
    """v loses c·v where the share c was sent; u stops there for any c above 0, if it is masked."""
    support, memory = [0, 3, 5], Dgc(momentum=0.5, masking=masking)
    share = np.array([[1.0, 0.25, 0.0], [0.5, 1.0, 0.0]])
    held = {name: torch.zeros(2, 6, dtype=torch.float64) for name in memory.buffers}
    u, v, rng = np.zeros((2, 6)), np.zeros((2, 6)), np.random.default_rng(3)
    for spoke in ([True, True], [True, False], [True, True]):
        delta = torch.from_numpy(rng.standard_normal((2, 6)))
        x = torch.empty_like(delta)
        memory.compensate(delta, held, np.arange(2), x)
        said = shared_values(x, torch.tensor(support))
        delivery = Delivery(np.array(spoke), share)
        rows = memory.changes(said, delivery)
        memory.remember(x, said, delivery, rows, held, rows)
        for n in np.flatnonzero(spoke):
            u[n] = 0.5 * u[n] + delta[n].numpy()
            v[n] += u[n]
            for i, c in zip(support, share[n], strict=True):
                v[n][i] *= 1.0 - c
                u[n][i] *= 0.0 if masking and c > 0.0 else 1.0
        np.testing.assert_allclose(held["memory"], v, atol=1e-12)
        np.testing.assert_allclose(held["momentum"], u, atol=1e-12)


def shared_values(x, support):
    """What devices say who send their values on a mask as they are, one on each sub-channel."""
    n, none = len(x), x[:, :0]
    common, ones = x.index_select(1, support), np.ones(n)
    return Said(
        devices=np.arange(n),
        finite=ones > 0.0,
        agreed=Agreed(support),
        common=common,
        index=none.long(),
        value=none,
        bits=0.0 * ones,
        energy=common.numpy() ** 2,
        loss=0.0 * ones,
    )


def test_a_clip_bounds_each_devices_update():
    memory = Dgc(momentum=0.0, clip=2.0, devices=4)
    delta = torch.tensor([[3.0, 4.0], [0.3, 0.4], [float("inf"), 1.0]], dtype=torch.float64)
    held = {name: torch.zeros(3, 2, dtype=torch.float64) for name in memory.buffers}
    x = torch.empty_like(delta)
    finite = memory.compensate(delta, held, np.arange(3), x)
    assert finite.tolist() == [True, True, False]
    torch.testing.assert_close(x[0], torch.tensor([0.6, 0.8], dtype=torch.float64))
    assert torch.equal(x[1], delta[1])
    assert torch.isfinite(x).all()


def test_signum_is_a_running_mean_and_silence_leaves_it():
    memory = Signum(beta=0.75)
    held = {"momentum": torch.zeros(2, 6, dtype=torch.float64)}
    mean, rng = np.zeros((2, 6)), np.random.default_rng(2)
    for spoke in ([True, True], [False, True], [True, True]):
        delta = torch.from_numpy(rng.standard_normal((2, 6)))
        x = torch.empty_like(delta)
        memory.compensate(delta, held, np.arange(2), x)
        np.testing.assert_allclose(x, 0.75 * mean + 0.25 * delta.numpy(), rtol=1e-12)
        said, delivery = top_two(x, np.array(spoke))
        rows = memory.changes(said, delivery)
        memory.remember(x, said, delivery, rows, held, rows)
        mean[spoke] = x.numpy()[spoke]
        np.testing.assert_array_equal(held["momentum"], mean)


def test_signum_without_momentum_remembers_nothing_of_use():
    signum = {"memory": {"name": "signum", "beta": 0.0}}
    assert_same(play_small("signsgd", 5), play_small("signsgd", 5, scheme=signum))


def test_signsgd_with_momentum_keeps_it_in_a_buffer_of_its_own():
    setup = build(small("signsgd", scheme={"options": {"momentum": 0.9}}))
    assert setup.scheme.codec.memory == Signum(0.9)
    played = play(setup, 4)
    assert not torch.equal(played[-1][1].theta, play_small("signsgd", 4)[-1][1].theta)


@pytest.mark.parametrize(
    ("memory", "told"),
    [
        ({"name": "dgc", "momentum": 1.0}, r"scheme\.memory\.momentum = 1\.0"),
        ({"name": "dgc", "clip": 0.0}, r"scheme\.memory\.clip = 0\.0"),
        ({"name": "signum", "betta": 0.5}, r"scheme\.memory\.betta: is no setting of 'signum'"),
    ],
)
def test_bad_settings_are_refused_by_name(memory, told):
    with pytest.raises(BadInput, match=told):
        build(small("top-k", scheme={"memory": memory}))

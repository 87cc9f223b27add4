"""Full local gradients, and devices that count by their samples."""

import numpy as np
import pytest
import torch

from airfeel.build.setup import build, build_radio
from airfeel.data.datasets import load
from airfeel.types import BadInput, Turn
from small import play, small, turn_at

UNEVEN = {"partition": "dirichlet", "alpha": 0.3}


def whole(**training):
    return {"training": {"batch_size": "all", **training}}


@pytest.mark.parametrize("data", [{}, UNEVEN, {"partition": {"name": "fixed-size", "size": 20}}])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_batch_of_all_is_the_gradient_of_a_devices_whole_loss(data, dtype):
    changes = whole(local_steps=2, dtype=dtype) | {"data": data}
    setup = build(small(**changes))
    learn, turn = setup.scheme.learn, turn_at(setup, 1)
    devices = np.arange(6)
    assert learn.dice == 1
    delta, loss = learn(turn, devices, np.zeros((6, 1)))
    data, model = setup.world.data, setup.world.model
    for n, shard in enumerate(setup.world.shards):
        theta = model.initial().clone()
        losses = []
        for _ in range(2):
            net = model.replica()
            net.flat.copy_(theta)
            inputs = data.inputs(data.train_x[shard], theta.dtype)
            value = model.loss(net(model.laid_out(inputs)), data.train_y[shard])
            parts = torch.autograd.grad(value, net.parameters)
            theta = theta - 0.1 * torch.cat([g.flatten() for g in parts])
            losses.append(float(value.detach()))
        rtol, atol = (1e-9, 1e-12) if dtype == "float64" else (2e-4, 2e-6)
        torch.testing.assert_close(delta[n], theta - model.initial(), rtol=rtol, atol=atol)
        assert loss[n] == pytest.approx(np.mean(losses), rel=1e-4)


def test_a_batch_of_all_throws_no_dice():
    e = small("fedavg", **whole(), data={**UNEVEN})
    one, other = (play(build(e.model_copy(update={"run": e.run})), 3) for _ in range(2))
    assert torch.equal(one[-1][1].theta, other[-1][1].theta)
    setup = build(e)
    turn = turn_at(setup, 1)
    some = [setup.scheme.learn(turn, np.arange(6), np.full((6, 1), u))[0] for u in (0.1, 0.9)]
    assert torch.equal(*some)


def test_threads_change_nothing_where_shards_differ_in_size():
    e = small("top-k", **whole(), data=UNEVEN)
    one, three = (play(build(e), 4, threads=n) for n in (1, 3))
    assert torch.equal(one[-1][1].theta, three[-1][1].theta)
    assert torch.equal(one[-1][3], three[-1][3])


def test_other_words_than_all_are_refused():
    with pytest.raises(BadInput, match=r"training\.batch_size.* = 'some'"):
        small(training={"batch_size": "some"})


def test_weights_by_samples_weigh_the_mean_of_fedavg():
    setup = build(small("fedavg", data=UNEVEN, training={"weights": "samples"}))
    sizes = np.array([len(shard) for shard in setup.world.shards])
    assert len(set(sizes.tolist())) > 1
    np.testing.assert_allclose(setup.world.weights, 6 * sizes / sizes.sum())
    learn = setup.scheme.learn
    for before, after, report, _ in play(setup, 3):
        turn = Turn(setup.world, before, setup.streams)
        dice = setup.streams.uniform("batch", turn.round, np.arange(6), learn.dice)
        delta, _ = learn(turn, np.arange(6), dice)
        mean = (torch.from_numpy(sizes / sizes.sum())[:, None] * delta).sum(dim=0)
        torch.testing.assert_close(after.update, mean, rtol=1e-9, atol=1e-12)
        assert report.distortion < 1e-20


@pytest.mark.parametrize("scheme", ["tcs-h", "tcs-d", "top-k", "backlog", "signsgd"])
def test_equal_shards_make_equal_weights(scheme):
    equal = {"partition": {"name": "fixed-size", "size": 20}}
    plain, weighed = (
        play(build(small(scheme, data=equal, training=t)), 4) for t in ({}, {"weights": "samples"})
    )
    for (_, x, one, memory), (_, y, two, again) in zip(plain, weighed, strict=True):
        torch.testing.assert_close(x.theta, y.theta, rtol=1e-12, atol=1e-14)
        torch.testing.assert_close(memory, again, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(one.costs.energy, two.costs.energy, rtol=1e-12)


def test_a_weight_is_paid_for_in_the_air_and_not_remembered():
    """P[g]_n = w_n²·σ_t²·Σ_m ‖segment m of x_n‖²/|h|², and the memory is x_n less what was said.

    The mean is over Σ w_n, and so is its noise.
    """
    weighed = {"weights": "samples"}
    e = small(
        "tcs-h",
        data=UNEVEN,
        scheme={"local_sparsity": 0.0},
        radio={"power_scalar": 0.05},
        training=weighed,
    )
    setup = build(e)
    before, after, report, memory = play(setup, 1)[0]
    learn, everyone, turn = (
        setup.scheme.learn,
        np.arange(6),
        Turn(setup.world, before, setup.streams),
    )
    dice = setup.streams.uniform("batch", 1, everyone, learn.dice)
    x, fading = learn(turn, everyone, dice)[0], setup.scheme.fade(turn)
    assert report.plan.active.all()
    for n, w in enumerate(setup.world.weights):
        parts = np.array_split(x[n][after.support].numpy(), 8)
        cost = sum((part**2).sum() / fading.gain2[n, m] for m, part in enumerate(parts))
        assert report.plan.needed[n] == pytest.approx(0.05**2 * w**2 * cost, rel=1e-12)
        assert report.costs.energy[n] == pytest.approx(0.05**2 * w**2 * cost, rel=1e-12)
        left = x[n].clone()
        left[after.support] = 0.0
        torch.testing.assert_close(memory[n], left, rtol=0.0, atol=0.0)
    w, z = torch.from_numpy(setup.world.weights), turn.rng("air").standard_normal(31)
    total = (w[:, None] * x[:, after.support]).sum(dim=0) + torch.from_numpy(1e-3 / 0.05 * z)
    torch.testing.assert_close(after.update[after.support], total / w.sum(), rtol=1e-9, atol=1e-12)


def test_where_devices_are_trained_elsewhere_weights_are_refused_by_name():
    setup = build(small())
    with pytest.raises(BadInput, match=r"training\.weights = 'samples': must be 'equal'"):
        build_radio(small(training={"weights": "samples"}), setup.world.model, setup.scheme.learn)


def test_the_real_mnist():
    try:
        data = load("mnist")
    except BadInput as missing:
        pytest.skip(str(missing))
    assert data.shape == (1, 28, 28)
    assert (len(data.train_x), len(data.test_x), data.classes) == (60_000, 10_000, 10)
    assert data.train_y[:5].tolist() == [5, 0, 4, 1, 9]

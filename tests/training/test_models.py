import numpy as np
import pytest
import torch
from torch import nn

from airfeel.training.backends import Torch
from airfeel.training.flat import FlatModel
from airfeel.training.local_sgd import draw_batches
from airfeel.training.models import MODELS, Dropout, make
from airfeel.types import BadInput, Dataset


def data(classes=3, shape=(1, 4, 4), samples=60):
    g = torch.Generator().manual_seed(0)
    x = torch.randn((samples, *shape), generator=g)
    y = torch.randint(max(classes, 1), (samples,), generator=g)
    one = torch.ones(shape[0], dtype=torch.float64)
    if classes == 0:
        y = x.flatten(1).sum(dim=1).double()
    return Dataset("made", x, y, x[:20], y[:20], classes, 0 * one, one)


def local_sgd(model, d, theta, batches, rate, seeds=None):
    return Torch(model, d)(theta, batches, rate, seeds)


def flat(name, d, dtype=torch.float64, **options):
    module = make(name, d.shape, d.classes, init="default", seed=1, **options)
    return FlatModel(module, classes=d.classes, dtype=dtype)


def test_paper_cnn_has_the_papers_size():
    module = make("paper-cnn", (3, 32, 32), 10, init="default", seed=0)
    assert FlatModel(module, classes=10).dim == 258_898


@pytest.mark.parametrize("name", MODELS)
def test_every_model_learns(name):
    d = data(0 if name == "linear" else 3, shape=(3, 16, 16))
    model = flat(name, d)
    theta = model.initial()
    batches = np.tile(np.arange(40), (1, 15, 1))
    before = model.evaluate(d, theta)[1]
    delta, loss = local_sgd(model, d, theta, batches, 1e-3 if name == "linear" else 0.05)
    after = model.evaluate(d, theta + delta[0])[1]
    assert after < before
    assert loss.shape == (1,)


def test_local_sgd_is_plain_sgd_by_hand():
    d = data()
    model = flat("mlp", d, hidden=5)
    theta = model.initial()
    batches = np.random.default_rng(0).integers(0, 60, (2, 4, 6))
    delta, loss = local_sgd(model, d, theta, batches, 0.1)
    for n in range(2):
        w1, b1, w2, b2 = (p.clone() for p in theta.split([80, 5, 15, 3]))
        losses = []
        for index in batches[n]:
            x, y = d.train_x[index].double().flatten(1), d.train_y[index]
            for p in (w1, b1, w2, b2):
                p.requires_grad_()
            hidden = torch.relu(x @ w1.view(5, 16).T + b1)
            value = nn.functional.cross_entropy(hidden @ w2.view(3, 5).T + b2, y)
            grads = torch.autograd.grad(value, (w1, b1, w2, b2))
            losses.append(value.item())
            w1, b1, w2, b2 = (
                (p - 0.1 * g).detach() for p, g in zip((w1, b1, w2, b2), grads, strict=True)
            )
        torch.testing.assert_close(delta[n], torch.cat([w1, b1, w2, b2]) - theta)
        assert loss[n] == pytest.approx(np.mean(losses))


def test_batches_are_drawn_from_the_devices_own_data():
    shards = [np.array([3, 5]), np.array([7])]
    u = np.random.default_rng(0).random((2, 50, 4))
    batches = draw_batches(shards, u)
    assert set(batches[0].ravel()) == {3, 5}
    assert set(batches[1].ravel()) == {7}
    assert draw_batches([np.arange(4)], np.array([[[0.0, 0.25, 0.999999]]])).tolist() == [
        [[0, 1, 3]]
    ]


def test_evaluation_counts_hits():
    d = data()
    model = flat("logistic", d)
    theta = model.initial()
    scores = d.test_x.double().flatten(1) @ theta[:48].view(3, 16).T + theta[48:]
    accuracy, loss = model.evaluate(d, theta)
    assert accuracy == pytest.approx((scores.argmax(1) == d.test_y).double().mean().item())
    assert loss == pytest.approx(nn.functional.cross_entropy(scores, d.test_y).item())


def test_regression_has_no_accuracy():
    d = data(classes=0)
    accuracy, loss = flat("linear", d).evaluate(d, flat("linear", d).initial() * 0)
    assert np.isnan(accuracy)
    assert loss == pytest.approx(0.5 * d.test_y.square().mean().item())


def test_dropout_follows_the_seed():
    d = data()
    model = flat("mlp", d, dropout=0.5)
    theta, batches = model.initial(), np.zeros((1, 2, 8), dtype=np.int64)
    same, again, other, off = (
        local_sgd(model, d, theta, batches, 0.1, seeds)[0] for seeds in ([4], [4], [5], None)
    )
    assert torch.equal(same, again)
    assert not torch.equal(same, other)
    assert not torch.equal(same, off)
    mean = torch.stack([Dropout(0.25)(torch.ones(9)) for _ in range(3)])
    assert (mean == 1).all()  # off outside of training


@pytest.mark.parametrize("init", ["default", "xavier", "kaiming", "zeros"])
def test_initial_weights_follow_seed_and_rule(init):
    a, b, c = (
        FlatModel(make("mlp", (1, 4, 4), 3, init=init, seed=s), classes=3).initial()
        for s in (1, 1, 2)
    )
    assert torch.equal(a, b)
    assert torch.equal(a, c) == (init == "zeros")


def test_kaiming_weights_have_variance_two_over_fan_in_and_zero_biases():
    module = make("paper-cnn", (3, 32, 32), 10, init="kaiming", seed=3)
    for name, p in module.named_parameters():
        if name.endswith("bias"):
            assert (p == 0).all()
        else:
            z = p.detach().double().flatten() / (2 / p[0].numel()) ** 0.5
            assert abs(z.mean()) < 4 / len(z) ** 0.5
            assert abs(z.square().mean() - 1) < 4 * (2 / len(z)) ** 0.5
            assert z.abs().max() > 2.5  # normal, not uniform: √3 at most


def normed(shape, classes):
    return nn.Sequential(nn.Flatten(), nn.Linear(16, 4), nn.GroupNorm(2, 4), nn.Linear(4, classes))


def test_kaiming_leaves_the_scales_of_a_norm():
    module = make("test_models:normed", (1, 4, 4), 3, init="kaiming", seed=0)
    assert (module[2].weight == 1).all()
    assert (module[2].bias == 0).all()
    assert (module[3].bias == 0).all()


def own_net(shape, classes, width=2):
    return nn.Sequential(
        nn.Flatten(), nn.Linear(shape[1] * shape[2], width), nn.Linear(width, classes)
    )


def not_a_net(shape, classes):
    return 3


def test_a_users_own_model():
    made = make("test_models:own_net", (1, 4, 4), 3, init="default", seed=0, options={"width": 7})
    assert FlatModel(made, classes=3).dim == 16 * 7 + 7 + 21 + 3
    for name, word in [
        ("test_models:none", "imported"),
        ("nowhere:f", "imported"),
        ("mpl", "'mlp'"),
    ]:
        with pytest.raises(BadInput, match=word):
            make(name, (1, 4, 4), 3, init="default", seed=0)
    with pytest.raises(BadInput, match="made int"):
        make("test_models:not_a_net", (1, 4, 4), 3, init="default", seed=0)
    with pytest.raises(BadInput, match="cannot be made"):
        make("test_models:own_net", (1, 4, 4), 3, init="default", seed=0, options={"wide": 7})


@pytest.mark.parametrize(
    ("name", "shape", "classes"),
    [
        ("paper-cnn", (1, 8, 8), 10),
        ("small-cnn", (1, 3, 8), 10),
        ("logistic", (1, 4, 4), 0),
        ("linear", (1, 4, 4), 3),
        ("paper-cnn", (3, 32, 32), 0),
    ],
)
def test_models_refuse_what_they_cannot_do(name, shape, classes):
    with pytest.raises(BadInput, match=f"model.name = '{name}'"):
        make(name, shape, classes, init="default", seed=0)

"""Weight decay, clipping, smoothing and local rules: their laws, in all backends."""

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from native_problems import needs_kernel, problem, solve
from torch import Tensor
from torch.nn import functional as F

import airfeel
from airfeel.build.setup import Setup, build, build_radio
from airfeel.training.backends import Torch, fastest
from airfeel.training.local_sgd import clip_updates
from airfeel.training.native import Terms
from airfeel.training.recipe import Recipe
from airfeel.training.rules import Momentum, PlainSGD, Proximal
from airfeel.types import BadInput, Dataset
from small import small, turn_at
from stopping import content, interrupted

NAMES = ["torch", "stacked", pytest.param("native", marks=needs_kernel)]
OPTIONS: dict[str, dict[str, Any]] = {
    "decay": {"weight_decay": 0.05},
    "clip": {"clip_norm": 0.2},
    "smoothing": {"label_smoothing": 0.2},
    "momentum": {"rule": {"name": "momentum", "beta": 0.7}},
    "proximal": {"rule": {"name": "proximal", "mu": 0.9}},
    "proximal and clip": {"rule": {"name": "proximal", "mu": 5.0}, "clip_norm": 0.2},
}
ALL = {"weight_decay": 0.05, "clip_norm": 0.4, "label_smoothing": 0.2, "rule": "momentum"}
OPTIONS["all"] = ALL


@pytest.fixture(autouse=True, scope="module")
def _one_thread() -> Iterator[None]:
    """Networks as small as these only lose time on several threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def setup(backend: str, model: str = "mlp", dtype: str = "float32", **training: Any) -> Setup:
    side = 16 if model == "paper-cnn" else 8
    e = small(
        data={"shape": [2, side, side], "samples": 120},
        model={"name": model, "hidden": 5},
        training={"backend": backend, "dtype": dtype, "devices": 4, **training},
    )
    return build(e)


def one_round(s: Setup) -> tuple[Tensor, np.ndarray]:
    """Δ and losses of all devices from the initial model."""
    devices = np.arange(s.world.devices)
    numbers = s.streams.uniform("batch", 1, devices, s.scheme.learn.dice)
    return s.scheme.learn(turn_at(s, 1), devices, numbers)


def relative(a: Tensor, b: Tensor) -> float:
    return float((a.double() - b.double()).norm() / b.double().norm())


@pytest.mark.parametrize("model", ["mlp", "small-cnn", "paper-cnn"])
@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("name", NAMES)
def test_backends_agree_on_each_option(name: str, option: str, model: str) -> None:
    exact, exact_loss = one_round(setup("torch", model, "float64", **OPTIONS[option]))
    delta, loss = one_round(setup(name, model, **OPTIONS[option]))
    for row, expected in zip(delta, exact, strict=True):
        assert relative(row, expected) < 1e-4
    np.testing.assert_allclose(loss, exact_loss, rtol=1e-4)
    assert relative(exact, one_round(setup("torch", model, "float64"))[0]) > 1e-3


@needs_kernel
def test_auto_trains_every_option_with_the_kernel() -> None:
    for option in OPTIONS.values():
        assert setup("auto", **option).scheme.learn.backend.name == "native"


@pytest.mark.parametrize("rule", ["sgd", "momentum"])
@pytest.mark.parametrize("name", NAMES)
def test_without_a_gradient_weights_shrink_by_the_decay(name: str, rule: str) -> None:
    """With one class the loss is 0 whatever the weights are."""
    e = small(
        data={"shape": [1, 6, 6], "classes": 1},
        model={"name": "small-cnn"},
        training={
            "backend": name,
            "dtype": "float32",
            "local_steps": 40,
            "weight_decay": 0.02,
            "rule": {"name": "momentum", "beta": 0.5} if rule == "momentum" else "sgd",
        },
    )
    s = build(e)
    theta = s.world.model.initial()
    delta, loss = one_round(s)
    share, velocity = 1.0, 0.0
    for _ in range(40):
        velocity = 0.5 * (rule == "momentum") * velocity + 0.02 * share
        share -= 0.1 * velocity
    if rule == "sgd":
        assert share == pytest.approx((1 - 0.1 * 0.02) ** 40)
    torch.testing.assert_close(theta + delta[0], share * theta, rtol=2e-6, atol=1e-9)
    assert (loss == 0).all()


@needs_kernel
def test_a_small_decay_of_many_steps_is_not_lost_to_rounding() -> None:
    """1 − ηλ rounded to float32 would be off by 4 % here."""
    e = small(
        data={"classes": 1},
        training={"backend": "native", "dtype": "float32", "local_steps": 2000, "batch_size": 1}
        | {"weight_decay": 7e-6},
    )
    s = build(e)
    theta = s.world.model.initial().double()
    shrunk = -(one_round(s)[0][0].double() @ theta) / theta.square().sum()
    assert float(shrunk) == pytest.approx(1 - (1 - 0.1 * 7e-6) ** 2000, rel=0.02)


@pytest.mark.parametrize("rule", ["sgd", "proximal"])
@pytest.mark.parametrize("name", NAMES)
def test_a_step_is_no_longer_than_the_rate_times_the_clip(name: str, rule: str) -> None:
    for steps, clip in ((1, 0.01), (4, 0.01), (1, 1e9), (1, 1e-300)):
        delta, _ = one_round(setup(name, local_steps=steps, clip_norm=clip, rule=rule))
        plain, _ = one_round(setup(name, local_steps=steps, rule=rule))
        for row, free in zip(delta.double(), plain.double(), strict=True):
            assert float(row.norm()) <= steps * 0.1 * clip * (1 + 1e-5)
            if clip == 1e9:
                assert relative(row, free) < 1e-6
            elif steps == 1 and clip == 0.01:
                assert float(row.norm()) == pytest.approx(0.1 * clip, rel=1e-3)
                assert float(row @ free) == pytest.approx(float(row.norm() * free.norm()), rel=1e-5)


@needs_kernel
@pytest.mark.parametrize("seed", range(10))
def test_the_kernels_loss_and_gradient_are_those_of_cross_entropy(seed: int) -> None:
    p = problem(seed)
    index, theta = p["batches"][0, 0], p["theta"].double()
    move = [
        torch.tensor(p[name], dtype=torch.float64)[:, None, None] for name in ("shift", "scale")
    ]
    x = (torch.as_tensor(p["x"][index]).double() - move[0]) * move[1]
    module = p["module"].double()
    torch.nn.utils.vector_to_parameters(theta.clone(), module.parameters())
    loss = F.cross_entropy(module(x), torch.as_tensor(p["y"][index]), label_smoothing=0.3)
    gradient = torch.autograd.grad(loss, list(module.parameters()))
    delta, mean = solve(p, learning_rate=1024.0, terms=Terms(label_smoothing=0.3))
    assert mean[0] == pytest.approx(float(loss.detach()), rel=1e-5)
    assert relative(delta[0] / -1024.0, torch.cat([g.flatten() for g in gradient])) < 1e-4


@needs_kernel
@pytest.mark.parametrize("seed", range(20))
def test_random_networks_take_one_step_with_all_terms(seed: int) -> None:
    """The gradient that the layers hand over is the one that they subtract otherwise."""
    p = problem(seed, n=2, steps=1)
    plain, _ = solve(p)
    handed, _ = solve(p, terms=Terms(clip_norm=1e9))
    assert relative(handed, plain) < 1e-5
    gradient = plain.double() / -0.1 + 0.5 * p["theta"].double()
    factor = (0.3 / gradient.norm(dim=1, keepdim=True)).clamp(max=1.0)
    delta, _ = solve(p, terms=Terms(weight_decay=0.5, clip_norm=0.3, momentum=0.9, pull=1.0))
    assert relative(delta, -0.1 * factor * gradient) < 1e-3


@needs_kernel
def test_no_term_gives_the_bytes_of_plain_sgd_also_after_others() -> None:
    for seed in range(20):
        p = problem(seed, n=2, steps=3)
        plain, loss = solve(p)
        with_all, _ = solve(p, terms=Terms(0.1, 0.1, 0.9, 0.1, 0.1))
        again, same = solve(p, terms=Terms())
        assert torch.equal(again, plain)
        assert torch.equal(same, loss)
        assert not torch.equal(with_all, plain)
        assert torch.equal(solve(p, terms=Terms(0.1, 0.1, 0.9, 0.1, 0.1))[0], with_all)


@needs_kernel
@pytest.mark.parametrize("seed", range(0, 20, 2))
def test_what_is_not_finite_leaves_no_trace_in_the_terms(seed: int) -> None:
    p, terms = problem(seed), Terms(0.1, 0.1, 0.9, 0.1, 0.1)
    before, _ = solve(p, terms=terms)
    theta = p["theta"].clone()
    theta[0] = torch.nan
    assert not torch.isfinite(solve(p, theta=theta, terms=terms)[0]).all()
    assert torch.equal(solve(p, terms=terms)[0], before)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("neutral", [{"weight_decay": 0}, {"label_smoothing": 0}, {"rule": "sgd"}])
def test_settings_at_their_defaults_change_no_byte(name: str, neutral: dict[str, Any]) -> None:
    delta, loss = one_round(setup(name, "small-cnn", **neutral))
    expected, before = one_round(setup(name, "small-cnn"))
    assert torch.equal(delta, expected)
    np.testing.assert_array_equal(loss, before)


@pytest.mark.parametrize("clip", [None, 0.3])
@pytest.mark.parametrize("decay", [0.0, 0.05])
@pytest.mark.parametrize("beta", [0.0, 0.9])
def test_one_epoch_of_one_device_is_that_of_torchs_optimizer(
    beta: float, decay: float, clip: float | None
) -> None:
    e = small(training={"devices": 1, "local_steps": 25, "rule": {"name": "momentum", "beta": beta}}
              | {"weight_decay": decay, "clip_norm": clip, "label_smoothing": 0.1},
              scheme={"scheduled": 1})  # fmt: skip
    s = build(e)
    order = np.random.default_rng(0).permutation(200).reshape(1, 25, 8)
    theta = s.world.model.initial()
    delta, _ = s.scheme.learn.backend(theta, order, 0.1, [0])
    module = s.world.model.replica().module
    torch.nn.utils.vector_to_parameters(theta.clone(), module.parameters())
    own = clip is None  # the optimizer adds weight decay after clipping, and airfeel before it
    optimizer = torch.optim.SGD(
        module.parameters(), 0.1, momentum=beta, weight_decay=decay if own else 0.0
    )
    loss = torch.nn.CrossEntropyLoss(label_smoothing=0.1)
    data = s.world.data
    for index in order[0]:
        optimizer.zero_grad()
        loss(
            module(data.inputs(data.train_x[index], torch.float64)), data.train_y[index]
        ).backward()
        if not own:
            for w in module.parameters():
                assert w.grad is not None
                w.grad += decay * w.detach()
            torch.nn.utils.clip_grad_norm_(module.parameters(), clip)
        optimizer.step()
    expected = torch.nn.utils.parameters_to_vector(module.parameters()).detach() - theta
    assert relative(delta[0], expected) < 1e-6


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("batch", [8, "all"])
def test_whole_updates_are_scaled_down_to_their_limit(name: str, batch: int | str) -> None:
    free, loss = one_round(setup(name, batch_size=batch))
    norms = free.double().norm(dim=1)
    most = float(norms.median())
    clipped, same = one_round(setup(name, batch_size=batch, update_clip=most))
    np.testing.assert_array_equal(loss, same)
    for row, before, norm in zip(clipped, free, norms, strict=True):
        if norm <= most:
            assert torch.equal(row, before)
        else:
            assert float(row.double().norm()) == pytest.approx(most, rel=1e-6)
            assert relative(row, before * (most / norm)) < 1e-6
    assert (norms > most).any()


def test_an_update_that_is_not_finite_stays_so() -> None:
    delta = torch.tensor([[torch.nan, 1.0], [torch.inf, 1.0], [3.0, 4.0]])
    clip_updates(delta, 1.0)
    assert not delta[:2].isfinite().all(dim=1).any()
    torch.testing.assert_close(delta[2], torch.tensor([0.6, 0.8]))


@pytest.mark.parametrize("backend", ["torch", pytest.param("native", marks=needs_kernel)])
def test_workers_and_a_resumed_run_change_no_byte(backend: str, tmp_path: Any) -> None:
    def e(threads: int) -> Any:
        return small(
            data={"shape": [1, 8, 8], "augment": ["crop", "flip"]},
            model={"name": "small-cnn"},
            training={"dtype": "float32", "backend": backend, "rounds": 6, "update_clip": 0.1}
            | ALL,
            run={"threads": threads, "checkpoint_every": 2},
        )

    airfeel.run(e(1), tmp_path / "one")
    airfeel.run(e(2), tmp_path / "two")
    airfeel.resume(interrupted(tmp_path / "stopped", 4, e(2)))
    one, two, stopped = (content(tmp_path / name) for name in ("one", "two", "stopped"))
    assert one[:3] == two[:3] == stopped[:3]
    text = (tmp_path / "one" / "config.toml").read_text()
    assert "weight_decay = 0.05" in text
    assert "update_clip = 0.1" in text


def test_what_is_off_is_not_written(tmp_path: Any) -> None:
    airfeel.run(small(training={"rounds": 1}), tmp_path / "run")
    text = (tmp_path / "run" / "config.toml").read_text()
    assert not any(name in text for name in ("decay", "clip", "smoothing"))


@pytest.mark.parametrize(
    ("training", "words"),
    [
        ({"weight_decay": -1}, "training.weight_decay = -1: .*greater than or equal to 0"),
        ({"weight_decay": float("inf")}, "training.weight_decay = inf: .*finite"),
        ({"clip_norm": 0}, "training.clip_norm = 0: .*greater than 0"),
        ({"update_clip": 0}, "training.update_clip = 0: .*greater than 0"),
        ({"label_smoothing": 1}, "training.label_smoothing = 1: .*less than 1"),
        ({"label_smoothing": -0.1}, "training.label_smoothing = -0.1: .*greater than or equal"),
        ({"weight_decay": 0.1, "backend": "test_recipe:bare"}, "training.weight_decay: backend"),
        ({"rule": "test_recipe:Own", "backend": "native"}, "rules sgd, momentum.*not Own"),
    ],
)
def test_what_is_refused(training: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput, match=words) as caught:
        setup(training.pop("backend", "torch"), **training)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("section", "key", "value"),
    [
        ("data", "augment", ["crop"]),
        ("training", "weight_decay", 0.1),
        ("training", "clip_norm", 1.0),
        ("training", "label_smoothing", 0.1),
        ("training", "update_clip", 1.0),
    ],
)
def test_training_elsewhere_refuses_what_it_would_not_carry_out(
    section: str, key: str, value: Any
) -> None:
    s = build(small())
    with pytest.raises(BadInput, match=f"{section}.{key}: must be left out"):
        build_radio(small(**{section: {key: value}}), s.world.model, s.scheme.learn)


def test_smoothing_needs_classes() -> None:
    with pytest.raises(BadInput, match=r"training.label_smoothing = 0.1: must be 0"):
        build(small(data={"classes": 0}, training={"label_smoothing": 0.1}))


class Own(PlainSGD):
    """A user's own rule."""


def bare(model: Any, data: Dataset) -> Torch:
    """A user's own backend that takes no recipe."""
    return Torch(model, data)


def test_an_own_rule_is_handed_the_decayed_and_clipped_gradient() -> None:
    own = setup("auto", rule="test_recipe:Own", weight_decay=0.05, clip_norm=0.2)
    assert own.scheme.learn.backend.name == "torch"
    expected = setup("torch", weight_decay=0.05, clip_norm=0.2)
    assert torch.equal(one_round(own)[0], one_round(expected)[0])


def test_a_recipe_names_what_is_used() -> None:
    assert Recipe().used == []
    assert Recipe(clip_norm=1.0, weight_decay=0.1).used == [
        *("training.weight_decay", "training.clip_norm")
    ]


@needs_kernel
def test_the_kernel_takes_each_rule_of_the_catalogue_and_no_other() -> None:
    world = setup("torch").world
    for rule in (PlainSGD(), Momentum(), Proximal()):
        assert fastest(world.model, world.data, rule).name == "native"
    assert fastest(world.model, world.data, Own()).name == "torch"


@needs_kernel
def test_a_device_that_diverges_leaves_nothing_to_the_next_one() -> None:
    """Layers whose outputs fill no whole vectors keep padding, which must not stay NaN."""
    s = setup("native", "paper-cnn", clip_norm=0.4, local_steps=3, batch_size="all")
    clean = one_round(s)[0]
    bad = s.world.data.train_x.clone()
    bad[s.world.shards[1][0]] *= 1e38
    backend = s.scheme.learn.backend
    spoilt = dataclasses.replace(backend, data=dataclasses.replace(backend.data, train_x=bad))
    learn = dataclasses.replace(s.scheme.learn, backend=spoilt)
    scheme = dataclasses.replace(s.scheme, learn=learn)
    updates = one_round(dataclasses.replace(s, scheme=scheme))[0]
    assert torch.isfinite(updates).all(dim=1).tolist()[2:] == [True, True]
    assert torch.equal(updates[2:], clean[2:])
    assert torch.equal(one_round(s)[0], clean)

"""From settings to the world, the scheme and the dice of a run."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Int64

from airfeel.catalogues import ALLOCATORS, BACKENDS, FADINGS, RULES, SERIES
from airfeel.experiment.assemble import assemble
from airfeel.experiment.config import Experiment, Radio
from airfeel.experiment.fields import scheduling
from airfeel.learn import models, partition
from airfeel.learn.backends import Backend
from airfeel.learn.datasets import load
from airfeel.learn.flat import FlatModel
from airfeel.learn.local_sgd import LocalSGD
from airfeel.radio.fading import Draw, Sky
from airfeel.schemes import Settings
from airfeel.streams import Streams
from airfeel.types import BadInput, Dataset, Dice, Learn, Network, Scheme, Series, World


@dataclass(frozen=True)
class Setup:
    """All that a run needs before its first round."""

    world: World
    scheme: Scheme
    streams: Dice


def build(e: Experiment) -> Setup:
    """Make everything that the settings describe; whatever is wrong with them shows here."""
    streams = Streams(e.run.seed)
    device = _compute_device(e.training.device)
    data = _dataset(e, streams)
    shards = tuple(_shards(e, data, streams))
    model = _model(e, data, streams, device)
    world = _world(e, model, _on(data, device), shards)
    backend: Backend = BACKENDS.make(
        e.training.backend,
        model=model,
        data=world.data,
        rule=RULES.make(e.training.rule or "sgd"),
        dropout=e.model.dropout > 0,
    )
    learn = LocalSGD(
        backend,
        e.training.local_steps,
        e.training.batch_size,
        _series(e.training.learning_rate, "training.learning_rate"),
    )
    return Setup(world, _scheme(e, world, learn), streams)


def build_radio(e: Experiment, model: Network, learn: Learn) -> Setup:
    """The same for a model that is trained elsewhere: scheme, radio and dice, without data."""
    world = _world(e, model, no_data(), (np.zeros(0, np.int64),) * e.training.devices)
    return Setup(world, _scheme(e, world, learn), Streams(e.run.seed))


def no_data() -> Dataset:
    """No samples."""
    x, y = torch.zeros(0, 1, 1, 1), torch.zeros(0)
    return Dataset("none", x, y, x, y, classes=0, shift=torch.zeros(1), scale=torch.ones(1))


def _world(
    e: Experiment, model: Network, data: Dataset, shards: tuple[Int64[np.ndarray, "_"], ...]
) -> World:
    power = np.broadcast_to(np.asarray(e.radio.power, float), e.training.devices).copy()
    return World(model, data, shards, e.radio.subchannels, power, e.slots)


def _compute_device(name: str) -> torch.device:
    try:
        device = torch.device(name)
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise BadInput(f"training.device = {name!r}: cannot be used ({reason})") from error
    return device


def _dataset(e: Experiment, streams: Streams) -> Dataset:
    d = e.data
    return load(
        d.dataset,
        data_dir=Path(d.dir) if d.dir else None,
        standardise=d.standardise,
        shape=d.shape,
        classes=d.classes,
        samples=d.samples,
        test_samples=d.test_samples,
        rng=streams.rng("data"),
    )


def _on(data: Dataset, device: torch.device) -> Dataset:
    fields = ("train_x", "train_y", "test_x", "test_y", "shift", "scale")
    return replace(data, **{name: getattr(data, name).to(device) for name in fields})


def _shards(e: Experiment, data: Dataset, streams: Streams) -> list[np.ndarray]:
    labels, n, rng = data.train_y.numpy(), e.training.devices, streams.rng("partition")
    if e.data.partition == "iid":
        return partition.iid(labels, n, rng=rng)
    if data.classes == 0:
        raise BadInput(f"data.partition = {e.data.partition!r}: needs classes; use 'iid'")
    if e.data.partition == "classes":
        return partition.by_classes(labels, n, e.data.classes_per_device, rng=rng)
    return partition.dirichlet(labels, n, e.data.alpha, minimum=e.data.minimum, rng=rng)


def _model(e: Experiment, data: Dataset, streams: Streams, device: torch.device) -> FlatModel:
    m = e.model
    module = models.make(
        m.name,
        data.shape,
        data.classes,
        init=m.init,
        seed=int(streams.rng("model").integers(2**62)),
        hidden=m.hidden,
        dropout=m.dropout,
        options=m.options,
    )
    dtype = getattr(torch, e.training.dtype)
    return FlatModel(module, classes=data.classes, dtype=dtype, device=device, buffers=m.buffers)


def _scheme(e: Experiment, world: World, learn: Learn) -> Scheme:
    d, chosen = world.dim, e.scheme
    k_global = round(chosen.global_sparsity * d)
    inviting, schedule = scheduling(chosen.scheduler, chosen.invite, chosen.schedule)
    settings = Settings(
        dim=d,
        k_global=k_global,
        k_local=min(round(chosen.local_sparsity * d), d - k_global),
        bits=chosen.bits,
        scheduled=e.scheduled,
        fade=Sky(_draw(e.radio), e.radio.noise, e.radio.mean_gain),
        learn=learn,
        allocate=ALLOCATORS.make(e.radio.allocator, time_limit=e.radio.allocator_seconds),
        power_scalar=_series(e.radio.power_scalar, "radio.power_scalar"),
        alpha=e.radio.alpha,
        strict_bits=chosen.strict_bits,
        inviting=inviting,
        schedule=schedule,
        options=chosen.options,
    )
    return assemble(chosen, e.radio.meters, settings, world)


def _series(value: float | tuple[float, ...] | dict[str, Any], key: str) -> Series:
    return SERIES.make(value, key) if isinstance(value, dict) else value


def _draw(radio: Radio) -> Draw:
    known = {"scale": radio.fading_scale, "factor": radio.rician_factor}
    trace = {} if radio.trace is None else {"file": radio.trace}
    draw: Draw = FADINGS.make(radio.fading, **known, **trace)
    return draw

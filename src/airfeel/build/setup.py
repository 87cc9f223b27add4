"""From settings to the world, the scheme and the dice of a run."""

import warnings
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Int64

from airfeel.build import memory_check
from airfeel.build.compose import assemble
from airfeel.build.local_training import local_training, series, used_recipe
from airfeel.build.radio_setup import (
    lanes,
    pilot_slots,
    real_sky,
    refuse_long,
    refuse_real,
    refuse_replaced,
    settled,
    width,
    with_real_radio,
)
from airfeel.catalogue import Table, name_of
from airfeel.catalogues import ALLOCATORS, FADINGS
from airfeel.data.datasets import load
from airfeel.data.own import digest
from airfeel.data.shards import deal
from airfeel.data.validation import validated
from airfeel.errors import quote, reason
from airfeel.radio.channel.correlation import correlate
from airfeel.radio.channel.fading import Draw, Sky
from airfeel.radio.transmission.weights import by_samples
from airfeel.schemes import Settings
from airfeel.settings.config import Experiment
from airfeel.settings.fields import scheduling
from airfeel.streams import Streams
from airfeel.training import models
from airfeel.training.flat import FlatModel
from airfeel.types import (
    BadInput,
    Dataset,
    Dice,
    Learn,
    Network,
    Scheme,
    World,
)


@dataclass(frozen=True)
class Setup:
    """All that a run needs before its first round."""

    world: World
    scheme: Scheme
    streams: Dice
    facts: dict[str, Any] = field(default_factory=dict)  # what the run's folder tells beside


def with_data(e: Experiment, data: Dataset) -> Experiment:
    """The experiment on data that are handed in: its settings know them by their digest."""
    if not isinstance(data, Dataset):
        kind = type(data).__name__
        makers = "airfeel.data.from_arrays or from_samples; an .npz file goes by its name: "
        raise BadInput(
            f"data is a value of type {kind}; must be a Dataset, such as {makers}"
            'load(…, data__dataset="file:my.npz")'
        )
    chosen = {"name": "given", "sha256": digest(data)}
    return e.model_copy(update={"data": e.data.model_copy(update={"dataset": chosen})})


def build(e: Experiment, data: Dataset | None = None, prefer: str | None = None) -> Setup:
    """Make everything that the settings describe; whatever is wrong with them shows here.

    data: what `data.dataset = "given"` stands for; see `with_data`.
    prefer: the backend where `auto` may choose one, if it can be had.
    """
    memory_check.check_settings(e)
    streams = Streams(e.run.seed)
    device = _compute_device(e.training.device)
    data = _dataset(e, streams, data)
    shards = _shards(e, data, streams)
    if e.data.validation:
        rng = streams.rng("validation")
        data, shards = validated(data, shards, e.data.validation, rng=rng)
    model = _model(e, data, streams, device)
    world = _world(e, model, _on(data, device), shards)
    learn = local_training(e, model, world.data, prefer)
    world = replace(world, look=getattr(learn.backend, "look", None))
    scheme, told = _scheme(e, world, learn, streams)
    return Setup(world, scheme, streams, told)


def build_radio(e: Experiment, model: Network, learn: Learn) -> Setup:
    """The same for a model that is trained elsewhere: scheme, radio and dice, without data."""
    refuse_real(e)
    if e.training.weights != "equal":
        raise BadInput(
            f"training.weights = {e.training.weights!r}: must be 'equal' where devices are trained "
            "elsewhere, how many samples they have is not known here"
        )
    if e.data.validation:
        raise BadInput(
            f"data.validation = {e.data.validation}: must be 0 where devices are trained "
            "elsewhere, their samples are not known here"
        )
    if recipe := used_recipe(e):
        raise BadInput(
            f"{recipe[0]}: must be left out where devices are trained elsewhere, their local steps "
            "are not known here"
        )
    world = _world(e, model, no_data(), (np.zeros(0, np.int64),) * e.training.devices)
    streams = Streams(e.run.seed)
    return Setup(world, _scheme(e, world, learn, streams)[0], streams)


def no_data() -> Dataset:
    """No samples."""
    x, y = torch.zeros(0, 1, 1, 1), torch.zeros(0)
    return Dataset("none", x, y, x, y, classes=0, shift=torch.zeros(1), scale=torch.ones(1))


def _world(
    e: Experiment, model: Network, data: Dataset, shards: tuple[Int64[np.ndarray, "_"], ...]
) -> World:
    power = np.broadcast_to(np.asarray(e.radio.power, float), e.training.devices).copy()
    weights = None
    if e.training.weights == "samples":
        weights = by_samples(np.array([len(shard) for shard in shards]))
    for array in (power, *shards, *([] if weights is None else [weights])):
        array.flags.writeable = False  # components share them
    return World(model, data, shards, e.radio.subchannels, power, e.slots, lanes(e), weights)


def _compute_device(name: str) -> torch.device:
    try:
        with warnings.catch_warnings(action="ignore"):
            device = torch.device(name)
            torch.zeros(1, device=device).item()  # "meta" has no numbers to give back
    except Exception as error:  # devices that are not built in raise what they like
        raise BadInput(
            f"training.device = {quote(name)}: cannot be used ({reason(error)})"
        ) from error
    return device


def _dataset(e: Experiment, streams: Streams, data: Dataset | None) -> Dataset:
    own = {"dataset", "partition", "augment", "validation"}
    given = {name: getattr(e.data, name) for name in type(e.data).model_fields if name not in own}
    if data is not None and name_of(e.data.dataset) != "given":
        raise BadInput(
            f"data.dataset = {quote(e.data.dataset)}: must be 'given' where data are handed in"
        )
    return load(e.data.dataset, **given, rng=streams.rng("data"), data=data)


def _on(data: Dataset, device: torch.device) -> Dataset:
    fields = ("train_x", "train_y", "test_x", "test_y", "shift", "scale")
    return replace(data, **{name: getattr(data, name).to(device) for name in fields})


def _shards(e: Experiment, data: Dataset, streams: Streams) -> tuple[Int64[np.ndarray, "_"], ...]:
    return deal(
        e.data.partition,
        data.train_y.cpu().numpy(),
        e.training.devices,
        rng=streams.rng("partition"),
        classes_per_device=e.data.classes_per_device,
        alpha=e.data.alpha,
        minimum=e.data.minimum,
    )


def _model(e: Experiment, data: Dataset, streams: Streams, device: torch.device) -> FlatModel:
    m = e.model
    memory_check.check_model(e, models.size(m.name, data.shape, data.classes, m.hidden))
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


def _scheme(
    e: Experiment, world: World, learn: Learn, streams: Dice
) -> tuple[Scheme, dict[str, Any]]:
    """The scheme, and what is to be told of the cell that it is in."""
    d, chosen = world.dim, e.scheme
    sky, told = settled(e, Sky(_draw(e), e.radio.noise, e.radio.mean_gain), streams)
    fade = real_sky(e, sky)
    k_global = round(chosen.global_sparsity * d)
    inviting, schedule = scheduling(chosen.scheduler, chosen.invite, chosen.schedule)
    settings = Settings(
        dim=d,
        k_global=k_global,
        k_local=min(round(chosen.local_sparsity * d), d - k_global),
        bits=chosen.bits,
        scheduled=e.scheduled,
        fade=fade,
        learn=learn,
        allocate=ALLOCATORS.make(e.radio.allocator, time_limit=e.radio.allocator_seconds),
        power_scalar=series(e.radio.power_scalar, "radio.power_scalar", e.training.rounds),
        alpha=e.radio.alpha,
        strict_bits=chosen.strict_bits,
        inviting=inviting,
        schedule=schedule,
        options=chosen.options,
        devices=world.devices,
        subchannels=world.subchannels,
        lanes=world.lanes,
        rounds=e.training.rounds,
        slots=world.slots,
        pilots=world.devices * pilot_slots(e),
    )
    scheme = assemble(chosen, e.radio.meters, settings, world)
    refuse_replaced(e, fade, scheme)
    own = {"scheme": scheme.name} if ":" in chosen.name else {}  # as tables call it
    return with_real_radio(e, scheme), told | own


_OF_PATHS = ("profile", "delay_spread", "carrier", "speed")


def _draw(e: Experiment) -> Draw:
    radio = e.radio
    facts: Table = {"scale": radio.fading_scale, "factor": radio.rician_factor}
    if name_of(radio.fading) in FADINGS:  # a user's own part may use these words otherwise
        facts |= {name: getattr(radio, name) for name in _OF_PATHS}
        facts |= {"m": radio.nakagami_m, "spacing": width(e)}
        facts |= {"subchannels": radio.subchannels, "antennas": radio.antennas}
    if radio.trace is not None:
        facts["file"] = radio.trace
    draw: Draw = FADINGS.make(radio.fading, **facts)
    refuse_long(e, draw)
    motion = radio.speed, radio.carrier, radio.round_seconds
    return correlate(draw, radio.correlation, *motion, radio.rho)

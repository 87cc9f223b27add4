"""Every part of every catalogue keeps its contract; a new line there is picked up by itself.

A part is put in its place in a small run, the first of some in which it can be (a model may need
larger pictures, a kernel float32). What it needs and has no default for is made up by its type.
"""

import dataclasses
import inspect
import pickle
from functools import cache
from itertools import product
from typing import Annotated, get_args, get_origin

import numpy as np
import pytest
import torch
from pydantic import ConfigDict, PydanticUserError, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

import airfeel
from airfeel import catalogues
from airfeel.build.setup import build
from airfeel.catalogue import Catalogue
from airfeel.catalogues import ALLOCATORS, FADINGS, SCHEMES
from airfeel.data.shards import Partition
from airfeel.radio.allocation.links import Allocator, Links
from airfeel.radio.channel.fading import Draw
from airfeel.radio.power_control.power_context import Policy
from airfeel.schemes import Settings
from airfeel.settings.config import Experiment
from airfeel.settings.load import experiment, load, place
from airfeel.settings.preset_names import BARE, presets
from airfeel.settings.relevance import as_toml
from airfeel.training.augment import Augmentation
from airfeel.training.backends import Backend
from airfeel.training.rules import Rule
from airfeel.types import (
    BadInput,
    Codec,
    Dataset,
    Fade,
    Invite,
    MakePlan,
    Mask,
    Memory,
    Meter,
    Network,
    Reason,
    Scheme,
    Screen,
    Step,
    Transmit,
)
from renaming import assert_renamed, renamed
from small import BASE, play, small, turn_at

CATALOGUES = [c for c in vars(catalogues).values() if isinstance(c, Catalogue)]
LINES = [pytest.param(c, name, id=f"{c.key}={name}") for c in CATALOGUES for name in c]
BY_NAME_ALONE = ("scheme.name", "model.name")
SAMPLES = [{}, {"shape": [1, 16, 16]}, {"classes": 0}]
MADE_UP = [0.5, 1.0, 3, "gains.npy"]  # for settings without a default: the first that is legal
PLACES = {  # by setting: what its parts are, and where one is found in a run
    "scheme.name": (Scheme, lambda s: s.scheme),
    "radio.fading": (Draw, lambda s: s.scheme.fade.draw),
    "scheme.fade": (Fade, lambda s: s.scheme.fade),
    "scheme.invite": (Invite, lambda s: s.scheme.invite),
    "scheme.codec": (Codec, lambda s: s.scheme.codec),
    "scheme.mask": (Mask, lambda s: s.scheme.codec.mask),
    "scheme.memory": (Memory, lambda s: s.scheme.codec.memory),
    "scheme.plan": (MakePlan, lambda s: s.scheme.plan),
    "scheme.amplitude": (Policy, lambda s: s.scheme.plan.amplitude),
    "scheme.screen": (Screen, lambda s: s.scheme.plan.screen),
    "scheme.transmit": (Transmit, lambda s: s.scheme.transmit),
    "scheme.step": (Step, lambda s: s.scheme.step),
    "radio.meters": (Meter, lambda s: s.scheme.meters[0]),
    "radio.allocator": (Allocator, lambda s: s.scheme.plan.allocate),
    "training.rule": (Rule, lambda s: s.scheme.learn.backend.rule),
    "data.augment": (Augmentation, lambda s: s.scheme.learn.backend.recipe.augment.parts[0]),
    "training.learning_rate": (object, lambda s: s.scheme.learn.learning_rate),
    "training.backend": (Backend, lambda s: s.scheme.learn.backend),
    "model.name": (Network, lambda s: s.world.model),
    "data.dataset": (Dataset, lambda s: s.world.data),
}
NUMBERED = {  # parts for which a device's number is more than a name
    ("radio.fading", "trace"),
    ("radio.fading", "none"),  # ties go to the lower number
    ("scheme.invite", "round-robin"),
    ("scheme.invite", "interior"),  # ties go to the lower number
    ("scheme.plan", "fast"),  # ties of slots go to the lower number
    ("radio.allocator", "round-robin"),
}
FILLED = {f.name for f in dataclasses.fields(Settings)} | {  # by the run: no settings of a part
    *("s", "devices", "subchannels", "k", "strict", "codec", "plan", "transmit", "draw", "recipe"),
    *("model", "data", "rule", "shape", "classes", "hidden", "dropout", "folder", "labels", "rng"),
}
ORDER = np.array([3, 0, 5, 1, 4, 2])


@pytest.fixture(autouse=True)
def gains(tmp_path, monkeypatch):
    """The file that a trace is made up with lies in the current folder."""
    monkeypatch.chdir(tmp_path)
    np.save("gains.npy", np.random.default_rng(1).rayleigh(size=(3, 6, 8)))


def made_up(kind):
    for value in MADE_UP:
        try:
            return TypeAdapter(kind, config=ConfigDict(strict=True)).validate_python(value)
        except (ValidationError, PydanticUserError):
            continue
    return None


def as_written(catalogue, name):
    """A part's settings in a table: all at their defaults, made up where there is none."""
    kinds, table = catalogue.field_types(name), {"name": name}
    for key, parameter in catalogue.settings(name).items():
        if key in FILLED | {"name"}:
            continue
        value = parameter.default
        value = made_up(kinds[key]) if value is parameter.empty else value
        if isinstance(value, bool | int | float | str | tuple):
            table[key] = list(value) if isinstance(value, tuple) else value
    return table


@cache
def at_home(catalogue, name):
    """A small experiment in which the part can do its work; None where this machine has none."""
    section, key = catalogue.key.split(".")
    choice = name if catalogue.key in BY_NAME_ALONE else as_written(catalogue, name)
    listed = isinstance(getattr(getattr(Experiment(), section), key), tuple)
    for dtype, data, scheme in product(("float64", "float32"), SAMPLES, SCHEMES):
        table = {section: dict(keys) for section, keys in BASE.items()}
        table["scheme"]["name"] = scheme
        table["training"]["dtype"] = dtype
        table["data"] |= data
        place(table, [section, key], [choice] if listed else choice)
        try:
            play(build(experiment(table)), 1)
        except BadInput:
            continue
        return experiment(table)
    return None


def homely(catalogue, name):
    found = at_home(catalogue, name)
    if found is None:
        pytest.skip("what it needs is not on this machine")
    return found


@pytest.mark.parametrize(("catalogue", "name"), LINES)
def test_a_line_names_something_that_says_what_it_is(catalogue, name):
    entry = catalogue[name]
    assert entry.about
    assert "\n" not in entry.about
    assert len(entry.about) <= 100
    assert inspect.getdoc(catalogue.find(name))


@pytest.mark.parametrize(("catalogue", "name"), LINES)
def test_every_setting_has_a_type_and_a_line_of_help(catalogue, name):
    for key, kind in catalogue.field_types(name).items():
        if key not in FILLED | {"name"}:
            assert get_origin(kind) is Annotated, key
            told = [m.description for m in get_args(kind) if isinstance(m, FieldInfo)]
            assert any(told), f"{key} has no help: Annotated[…, about(…)]"


@pytest.mark.parametrize(("catalogue", "name"), LINES)
def test_its_settings_survive_a_file(catalogue, name, tmp_path):
    e = homely(catalogue, name)
    (tmp_path / "config.toml").write_text(as_toml(e))
    assert load(tmp_path / "config.toml") == e


@pytest.mark.parametrize(("catalogue", "name"), LINES)
def test_it_obeys_its_protocol_prints_itself_and_travels(catalogue, name):
    if catalogue.key == "run.loggers":
        pytest.skip("watches a run from outside")
    e = homely(catalogue, name)
    if catalogue.key == "data.partition":  # gone once the samples are dealt
        kind, part = Partition, catalogue.make(e.data.partition)
    else:
        kind, find = PLACES[catalogue.key]
        part = find(build(e))
    assert isinstance(part, kind)
    if catalogue.key in ("scheme.name", "training.backend", "model.name", "data.dataset"):
        assert type(pickle.loads(pickle.dumps(part))) is type(part)
    else:
        assert "object at 0x" not in repr(part)
        again = pickle.loads(pickle.dumps(part))
        assert again == part
        assert repr(again) == repr(part)


@pytest.mark.parametrize(("catalogue", "name"), LINES)
def test_same_dice_give_same_bits(catalogue, name):
    """Shapes are executed on the way, as everywhere in the tests."""
    e = homely(catalogue, name)
    one, two = (play(build(e), 4) for _ in range(2))
    for (_, x, _, memory), (_, y, _, again) in zip(one, two, strict=True):
        assert torch.equal(x.theta, y.theta)
        assert torch.equal(memory, again)
        np.testing.assert_array_equal(x.spent, y.spent)


@pytest.mark.parametrize(("catalogue", "name"), LINES)
def test_renaming_devices_renames_the_result(catalogue, name):
    e = homely(catalogue, name)
    numbered = (catalogue.key, name) in NUMBERED or catalogue.key == "data.dataset"
    if numbered or e.training.dtype != "float64":
        pytest.skip("a device's number is more than its name, or it has none, or sums are coarse")
    setup = build(e)
    assert_renamed(play(setup, 4), play(renamed(setup, ORDER), 4), ORDER)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("subchannels", [2, 8])
def test_schemes(scheme, subchannels):
    setup = build(small(scheme, radio={"subchannels": subchannels}, budget={"slots": 2000}))
    world = setup.world
    for before, after, report, memory in play(setup, 8):
        plan, costs = report.plan, report.costs
        assert after.round == before.round + 1 == report.round
        assert torch.isfinite(after.theta).all()
        assert torch.isfinite(memory).all()
        assert [r is Reason.SCHEDULED for r in plan.reason] == plan.active.tolist()
        assert after.slots == before.slots + costs.slots <= 2000
        assert (costs.slots_air, costs.slots_digital) == (plan.slots_air, plan.slots_digital)
        assert (costs.energy >= 0).all()
        assert not costs.energy[~plan.active].any()
        for g, owner in enumerate(plan.owner):
            owners = set(owner.tolist()) - {-1}
            assert owners == set(np.flatnonzero(plan.batch == g).tolist())
        owned = np.zeros((world.devices, subchannels), dtype=bool)
        for owner in plan.owner:
            column = np.flatnonzero(owner >= 0)
            owned[owner[column], column] = True
        assert not plan.power[~owned].any()
        torch.testing.assert_close(after.theta, before.theta + after.update)


@pytest.mark.parametrize("name", ALLOCATORS)
@pytest.mark.parametrize(("n", "m"), [(1, 1), (1, 4), (3, 3), (3, 5)])
def test_allocators(name, n, m):
    rng = np.random.default_rng(n * m)
    power, gain2 = rng.uniform(0.5, 2.0, n), rng.rayleigh(size=(n, m)) ** 2
    found = ALLOCATORS.make(name)(Links(power, gain2, 0.1, np.full(n, 50.0)))
    assert found.owner.shape == (m,)
    assert set(found.owner.tolist()) - {-1} == set(range(n))
    assert (found.power >= 0).all()
    assert not found.power[np.arange(n)[:, None] != found.owner[None]].any()
    assert (found.power.sum(axis=1) <= power * (1 + 1e-9)).all()


@pytest.mark.parametrize("name", FADINGS)
def test_a_sky_belongs_to_its_devices(name):
    """One more device does not change the gains of the others."""
    e = homely(FADINGS, name)
    if (FADINGS.key, name) in NUMBERED:
        pytest.skip("a trace has as many devices as it has")
    more = e.model_copy(update={"training": e.training.model_copy(update={"devices": 9})})
    few, many = (s.scheme.fade(turn_at(s, 2)).gain for s in (build(e), build(more)))
    np.testing.assert_array_equal(many[:6], few)
    assert (few > 0).all()


@pytest.mark.parametrize("name", presets())
def test_presets_are_legal(name):
    e = load(name)
    assert name.removesuffix(BARE).endswith(e.scheme.name)
    assert e.training.devices == 20
    if name.startswith("paper"):
        assert e.data.dataset == "cifar10"
        assert (e.scheme.global_sparsity, e.scheme.local_sparsity, e.scheme.bits) == (0.2, 0.05, 16)


def test_digits_preset_schedules_as_it_says():
    """50 to 90 % of the devices can afford the air, over the run."""
    run = airfeel.run(load("digits-tcs-h"))
    assert 0.5 <= run.summary["scheduled_mean"] / 20 <= 0.9

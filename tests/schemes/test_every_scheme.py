"""What holds for every scheme there is: it resumes, travels, and refuses what it does not know."""

from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
import torch

import airfeel
from airfeel.build.setup import build
from airfeel.catalogues import SCHEMES
from airfeel.engines.cluster import joined
from airfeel.engines.ray import RayEngine
from airfeel.engines.threads import Threads
from airfeel.flower.refusals import refuse_scheme
from airfeel.radio.scheduling.power_constraint import Shares
from airfeel.round import play_round, start
from airfeel.types import BadInput, Turn
from small import small
from stopping import content, interrupted

UNEVEN = {"partition": "dirichlet", "alpha": 0.3}
BUFFERS = ("memory", "momentum")  # of all memories
VARIANTS = {  # what devices say or keep otherwise
    "signum": ("signsgd", {"options": {"momentum": 0.9}}),
    "dgc": ("tcs-h", {"memory": "dgc"}),
    "bn2": ("top-k", {"screen": {"name": "bn2", "scheduled": 2}}),
    "bn2-c": ("d-dsgd", {"screen": {"name": "bn2-c", "scheduled": 2}}),
    "by-norm": ("d-dsgd", {"options": {"entries": "norm"}}),
    "center": ("baa", {"options": {"center": True}}),
    "layers": ("ef-signsgd", {"options": {"groups": "layers"}}),
    "markov": ("ca-dsgd", {"options": {"denoiser": "markov"}}),
}
QUEUE = {"weight": 3.0, "constants": "measured"}
CARRIED = {  # what the base station remembers
    "energy-queue": ("analog", {"invite": {"name": "energy-queue", **QUEUE}}),
    "drift": ("tcs-h", {"plan": {"name": "drift", **QUEUE}}),
    "age-top-k": ("tcs-h", {"mask": "age-top-k", "step": "fedavgm"}),
    "hold": ("tcs-h", {"mask": "fair-k", "step": "hold"}),
    "fedadam": ("top-k", {"step": {"name": "fedadam", "bias_correction": True}}),
    "fedyogi": ("tcs-d", {"step": "fedyogi"}),
    "last-peak": ("cotaf", {"options": {"norm": "last"}}),
    "fair": ("top-k", {"invite": "proportional-fair"}),
}
AS_THEY_ARE = {name: (name, {}) for name in SCHEMES}
STOPPED = AS_THEY_ARE | CARRIED | {k: VARIANTS[k] for k in ("signum", "dgc", "by-norm", "markov")}


@pytest.mark.parametrize("case", STOPPED)
def test_stopped_and_resumed_it_leaves_the_same_bytes(case, tmp_path):
    name, own = STOPPED[case]
    rounds, slots = {"rounds": 6}, {"slots": 900}
    e = small(name, scheme=own, training=rounds, run={"checkpoint_every": 1}, budget=slots)
    airfeel.run(e, tmp_path / "whole")
    airfeel.resume(interrupted(tmp_path / "cut", 4, e))
    assert content(tmp_path / "cut") == content(tmp_path / "whole")


def test_on_ray_a_scheme_gives_the_same_bits():
    """The same two actors for all of them: what devices hold is emptied in between."""
    pytest.importorskip("ray", reason='Ray is not installed: pip install "airfeel[ray]"')
    cases = (AS_THEY_ARE | VARIANTS).items()
    setups = {k: build(small(name, data=UNEVEN, scheme=own)) for k, (name, own) in cases}
    world, learn = setups["tcs-h"].world, setups["tcs-h"].scheme.learn
    with joined(None, 2), closing(RayEngine(world, learn, 2, buffers=BUFFERS)) as there:
        for name, setup in setups.items():
            empty = torch.zeros((world.devices, world.dim), dtype=torch.float64)
            there.restore(dict.fromkeys(BUFFERS, empty))
            scheme = replace(setup.scheme, learn=learn)
            with closing(Threads(world, 1, buffers=BUFFERS)) as here:
                for one, other in zip(
                    *(rounds(scheme, setup, e) for e in (here, there)), strict=True
                ):
                    assert one == other, name


def rounds(scheme, setup, engine):
    """All that a scheme leaves after each of three rounds, to the bit."""
    state = start(scheme, setup.world, setup.streams, engine)
    for _ in range(3):
        state, report = play_round(scheme, Turn(setup.world, state, setup.streams), engine)
        arrays = [state.theta, state.spent, report.plan.power, *state.carry.values()]
        arrays += [engine.buffers()[name] for name in BUFFERS]
        told = report.plan.reason, report.costs.bits, report.distortion, report.train_loss
        yield [np.asarray(a).tobytes() for a in arrays], repr(told)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_an_option_that_it_does_not_know_is_refused_by_name(scheme):
    if scheme in ("tcs-h", "tcs-d", "top-k", "fedavg"):
        pytest.skip("has no options, and reads none")
    with pytest.raises(BadInput, match=r"scheme\.options\.nonsense: is no setting"):
        build(small(scheme, scheme={"options": {"nonsense": 1}}))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_federation_refuses_by_name_what_arrives_in_part(scheme):
    made = build(small(scheme)).scheme
    if isinstance(made.plan, Shares) and made.plan.partial:
        with pytest.raises(BadInput, match=rf"scheme\.name = '{scheme}'"):
            refuse_scheme(made)
    else:
        refuse_scheme(made)

"""Parts and an engine by which the library's own round is played with what nodes have said."""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Float64
from torch import Tensor, nn

from airfeel.experiment.build import Setup, build
from airfeel.experiment.config import Data, Experiment, Model
from airfeel.flower.protocol import Answer
from airfeel.radio.schedule import fresh_policy
from airfeel.types import (
    BadInput,
    Compress,
    Dice,
    Fading,
    Learn,
    MakePlan,
    Payload,
    Plan,
    Reason,
    Scheme,
    State,
    World,
)


def radio_only(experiment: Experiment, dim: int) -> Setup:
    """Scheme, radio and dice of the settings for any model of `dim` parameters.

    The sections `data` and `model` are not used: model and data are the Flower app's own.
    """
    n = experiment.training.devices
    nobody = Data(dataset="synthetic", shape=(1, 1, 1), classes=0, samples=n, test_samples=1)
    model = Model(name=f"{__name__}:stand_in", options={"dim": dim})
    training = experiment.training.model_copy(update={"backend": "torch"})
    return build(
        experiment.model_copy(update={"data": nobody, "model": model, "training": training})
    )


def stand_in(shape: tuple[int, int, int], classes: int, dim: int) -> nn.Module:
    """A module that has as many parameters as the real one, and is never run."""
    return nn.Linear(dim, 1, bias=False)


@dataclass(frozen=True)
class Supplied:
    """Gains from outside, as a part: `gains(round)` gives |h| [N M], measured or computed."""

    gains: Callable[[int], Float64[np.ndarray, "N M"]]
    noise: float = 1e-6  # variance for one received element [W]

    def __call__(self, world: World, round: int, *, rng: np.random.Generator) -> Fading:
        gain = np.asarray(self.gains(round), dtype=np.float64)
        wanted = (world.devices, world.subchannels)
        if gain.shape != wanted or not np.isfinite(gain).all() or (gain < 0).any():
            raise BadInput(f"gains({round}): must be finite, not negative and of shape {wanted}")
        return Fading(gain, self.noise)


def first_state(theta: Float[Tensor, "D"], engine: "Heard", devices: int) -> State:
    """Round 0: the mean of whole updates gives ĝ_0 and w_0, as in the library's own start."""
    said = engine.payload
    total = torch.zeros_like(theta)
    for row in said.common:
        total += row
    update = total / len(said.devices)
    active = np.zeros(devices, dtype=bool)
    active[said.devices] = True
    engine.commit(active)
    nothing, policy = torch.zeros(0, dtype=torch.int64), fresh_policy(devices)
    return State(0, theta + update, update, nothing, np.zeros(devices), policy=policy)


def as_happened(
    scheme: Scheme,
    fading: Fading,
    invited: Bool[np.ndarray, "N"],
    silent: Mapping[int, Answer],
) -> Scheme:
    """The scheme in a round whose sky and guests are known, and who stayed silent too."""

    def fade(world: World, round: int, *, rng: np.random.Generator) -> Fading:
        return fading

    def invite(
        world: World, state: State, fading: Fading, *, rng: np.random.Generator
    ) -> Bool[np.ndarray, "N"]:
        return invited

    return dataclasses.replace(scheme, fade=fade, invite=invite, plan=Silenced(scheme.plan, silent))


@dataclass(frozen=True)
class Silenced:
    """A plan that carries the reasons of those who took themselves out."""

    plan: MakePlan
    silent: Mapping[int, Answer]

    def __call__(self, world: World, state: State, payload: Payload, fading: Fading) -> Plan:
        plan = self.plan(world, state, payload, fading)
        reason, needed = list(plan.reason), plan.needed.copy()
        for device, answer in self.silent.items():
            reason[device], needed[device] = Reason(answer.reason), answer.needed
        return dataclasses.replace(plan, reason=tuple(reason), needed=needed)


class Heard:
    """An engine whose devices are elsewhere: what they said has arrived already."""

    def __init__(self, payload: Payload, dim: int) -> None:
        self.payload = payload
        self.dim = dim
        self.active: Bool[np.ndarray, "N"] | None = None  # who was counted, once it is known

    def prepare(
        self,
        learn: Learn,
        compress: Compress,
        state: State,
        invited: Bool[np.ndarray, "N"],
        streams: Dice,
    ) -> Payload:
        """What arrived."""
        return self.payload

    def commit(self, active: Bool[np.ndarray, "N"]) -> None:
        """Remember who was counted; each node's memory is settled by its next instruction."""
        self.active = active

    def ideal(self, active: Bool[np.ndarray, "N"]) -> Float[Tensor, "D"]:
        """Nobody here knows what the devices did not say."""
        return torch.full((self.dim,), torch.nan)

    def evaluate(self, theta: Float[Tensor, "D"]) -> tuple[float, float]:
        """There are no test data here."""
        return float("nan"), float("nan")

    def close(self) -> None:
        """Nothing is open."""

"""Parts and an engine by which the library's own round is played with what nodes have said."""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Float64, Int64
from torch import Tensor

from airfeel.build.setup import Setup, build_radio
from airfeel.flower.protocol import Answer
from airfeel.handed import gains
from airfeel.settings.config import Experiment
from airfeel.types import (
    Agreed,
    BadInput,
    Codec,
    Dataset,
    Delivery,
    Fade,
    Fading,
    Invite,
    Invited,
    Learn,
    MakePlan,
    Plan,
    Reason,
    Said,
    Scheme,
    Spread,
    Turn,
)

_NAN = float("nan")


def radio_only(experiment: Experiment, dim: int) -> Setup:
    """Scheme, radio and dice of the settings for any model of `dim` parameters.

    The sections `data` and `model` are not used: model and data are the Flower app's own.
    """
    dtype = getattr(torch, experiment.training.dtype)
    return build_radio(experiment, Vector(torch.zeros(dim, dtype=dtype)), Elsewhere())


@dataclass(frozen=True)
class Vector:
    """A model of which only the parameters are known: it is trained and tested elsewhere."""

    theta: Float[Tensor, "D"]

    @property
    def dim(self) -> int:
        return len(self.theta)

    @property
    def device(self) -> torch.device:
        return self.theta.device

    def initial(self) -> Float[Tensor, "D"]:
        """The parameters."""
        return self.theta

    def named(self, theta: Float[Tensor, "D"]) -> dict[str, Tensor]:
        """All of them, as one."""
        return {"theta": theta.clone().cpu()}

    def evaluate(
        self, data: Dataset, theta: Float[Tensor, "D"], spread: Spread
    ) -> tuple[float, float]:
        """Nobody can tell here."""
        return _NAN, _NAN


@dataclass(frozen=True)
class Elsewhere:
    """Training that nodes do: there is nothing to be called here."""

    dice: int = 0
    block: int = 1

    def __call__(
        self, turn: Turn, devices: Int64[np.ndarray, "n"], dice: Float64[np.ndarray, "n W"]
    ) -> tuple[Float[Tensor, "n D"], Float64[np.ndarray, "n"]]:
        raise BadInput("learn: nodes train their own model; this setup has neither data nor model")


@dataclass(frozen=True)
class Supplied:
    """Gains from outside, as a part: `gains(round)` gives |h| [N M], measured or computed."""

    gains: Callable[[int], Float64[np.ndarray, "N M"]]
    noise: float = 1e-6  # variance for one received element [W]

    def __call__(self, turn: Turn) -> Fading:
        measured = np.asarray(self.gains(turn.round))
        return Fading(gains(turn, f"gains({turn.round})", measured), self.noise)


def as_happened(
    scheme: Scheme, fading: Fading, invited: Invited, silent: Mapping[int, Answer]
) -> Scheme:
    """The scheme in a round whose sky and guests are known, and who stayed silent too.

    The parts that it had stay within the new ones, so that they remember what they remember.
    """
    return dataclasses.replace(
        scheme,
        fade=_Drawn(scheme.fade, fading),
        invite=_Chosen(scheme.invite, invited),
        plan=_Silenced(scheme.plan, silent),
    )


@dataclass(frozen=True)
class _Drawn:
    """A sky that was drawn when the nodes were asked."""

    fade: Fade
    fading: Fading

    def __call__(self, turn: Turn) -> Fading:
        return self.fading


@dataclass(frozen=True)
class _Chosen:
    """An invitation of those who could be reached."""

    invite: Invite
    invited: Invited

    def __call__(self, turn: Turn, fading: Fading) -> Invited:
        return self.invited


@dataclass(frozen=True)
class _Silenced:
    """A plan that carries the reasons of those who took themselves out."""

    plan: MakePlan
    silent: Mapping[int, Answer]

    def __call__(self, turn: Turn, said: Said, fading: Fading) -> Plan:
        plan = self.plan(turn, said, fading)
        reason, needed = list(plan.reason), plan.needed.copy()
        for device, answer in self.silent.items():
            reason[device], needed[device] = Reason(answer.reason), answer.needed
        return dataclasses.replace(plan, reason=tuple(reason), needed=needed)


class Heard:
    """An engine whose devices are elsewhere: what they said has arrived already."""

    def __init__(self, said: Said) -> None:
        self.said = said
        self.delivery: Delivery | None = None  # what was counted, once it is known

    def prepare(
        self, turn: Turn, learn: Learn, codec: Codec, agreed: Agreed, invited: Invited
    ) -> Said:
        """What arrived."""
        return self.said

    def commit(self, delivery: Delivery) -> None:
        """Note what was counted; each node's memory is settled by its next instruction."""
        self.delivery = delivery

    def ideal(self, active: Bool[np.ndarray, "N"]) -> Float[Tensor, "D"]:
        """Mean of whole updates, which nodes send in round 0 alone, in device order."""
        rows = self.said.common[torch.from_numpy(active[self.said.devices])]
        total = torch.zeros_like(self.said.common[0])
        for row in rows:
            total += row
        return total / len(rows)

    def evaluate(self, theta: Float[Tensor, "D"]) -> tuple[float, float]:
        """There are no test data here."""
        return _NAN, _NAN

    def close(self) -> None:
        """Nothing is open."""

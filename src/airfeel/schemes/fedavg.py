"""FedAvg: uncompressed, noiseless and free: the upper reference."""

import numpy as np
from jaxtyping import Bool

from airfeel.compress.parts import Whole
from airfeel.radio.digital import Orthogonal
from airfeel.radio.plan import FreePlan
from airfeel.schemes.settings import Settings
from airfeel.server.aggregate import Average
from airfeel.types import Fading, Scheme, State, World


def _all(
    world: World, state: State, fading: Fading, *, rng: np.random.Generator
) -> Bool[np.ndarray, "N"]:
    return np.ones(world.devices, dtype=bool)


def fedavg(s: Settings) -> Scheme:
    """Every device's whole update, at no cost."""
    return Scheme(
        name="fedavg",
        fade=s.fade,
        invite=_all,
        learn=s.learn,
        compress=Whole(),
        plan=FreePlan(),
        transmit=Orthogonal(),
        aggregate=Average(),
    )

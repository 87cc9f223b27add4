"""FedAvg: uncompressed, noiseless and free: the upper reference."""

from airfeel.compression.codecs import Whole
from airfeel.radio.scheduling.plan import FreePlan
from airfeel.radio.selection.device_selection import Anyone
from airfeel.radio.transmission.digital import Orthogonal
from airfeel.schemes.settings import NoOptions, Settings
from airfeel.types import Scheme


def fedavg(s: Settings) -> Scheme:
    """Every device's whole update, at no cost.

    McMahan et al. 2017 (arXiv:1602.05629): ĝ = mean Δ_n, all devices, no noise, no slots, no
    joules. Not a rival but a ceiling: what any scheme could reach in as many rounds.
    """
    s.read(NoOptions)
    return Scheme(
        name="fedavg",
        fade=s.fade,
        invite=Anyone(),
        learn=s.learn,
        codec=Whole(),
        plan=FreePlan(),
        transmit=Orthogonal(),
        step=s.step,
        meters=s.meters,
    )

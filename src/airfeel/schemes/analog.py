"""Plain analog aggregation: every entry by air, by those who can afford it."""

from airfeel.compression.codecs import Whole
from airfeel.radio.scheduling.plan import HybridPlan
from airfeel.radio.transmission.air import Hybrid
from airfeel.schemes.settings import NoOptions, Settings
from airfeel.types import Scheme


def analog(s: Settings) -> Scheme:
    """TCS-H with the whole model as its global mask: nothing is sparse, nothing digital.

    All D entries of x = Δ + e by air at b = σ_t/h, by who can afford that (the power rule); a
    device that cannot keeps e. ⌈D/M⌉ slots and no bits per round. It is what energy-aware
    scheduling is compared on (Sun, Zhou, Niu, Gündüz 2022, arXiv:2106.00490). Use it where rounds
    or joules are scarcer than slots, and as the answer to "is it better than plain analog?".
    """
    s.read(NoOptions)
    return Scheme(
        name="analog",
        fade=s.fade,
        invite=s.invite("everyone"),
        learn=s.learn,
        codec=Whole(s.memory),
        plan=HybridPlan(
            *(s.allocate, s.power_scalar, s.alpha, s.schedule or "power", s.screen, s.strict_bits)
        ),
        transmit=Hybrid(),
        step=s.step,
        meters=s.meters,
    )

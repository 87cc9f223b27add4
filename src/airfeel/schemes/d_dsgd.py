"""D-DSGD: as many entries as the channel has room for in a fixed number of slots."""

from dataclasses import dataclass
from typing import Annotated, Literal

from airfeel.compress.extremes import Extremes
from airfeel.radio.digital import Orthogonal
from airfeel.radio.grants import Granted, RealRates, WindowPlan
from airfeel.ranges import Count, about
from airfeel.schemes.settings import Settings
from airfeel.segments import air_slots
from airfeel.types import Scheme


@dataclass(frozen=True)
class Options:
    """What `scheme.options` may set of d-dsgd."""

    slots: Annotated[
        Count | None, about("of the digital phase; left out: as many as a-dsgd takes")
    ] = None
    capacity: Annotated[
        Literal["complex", "real"], about("both quadratures carry bits, or one (the paper)")
    ] = "complex"
    best: Annotated[bool, about("one device per round, of largest capacity")] = False


def d_dsgd(s: Settings) -> Scheme:
    """q_n entries of one sign at their mean, q_n by capacity (Amiri, Gündüz 2020, 1901.00844).

    Per round the digital phase lasts `slots` slots; device n has room for B_n = slots·R_n bits and
    sends the most entries with log2 C(D, q) + 33 ≤ B_n, by `one_sided`. The rest stays in memory.
    `best` is the fading paper's single device (arXiv:1907.09769). The 33 bits and the quantiser are
    known from the literature, and were not compared with the authors' text.

    When to use it: as the digital twin of a-dsgd at the same slots and power; it starves where many
    devices share few slots.
    """
    own = s.read(Options)
    window = own.slots or air_slots(round(s.dim / 2), s.subchannels)
    invite = Granted(s.invite("random"), s.dim, window, own.best, s.allocate)
    return Scheme(
        name="d-dsgd",
        fade=s.fade if own.capacity == "complex" else RealRates(s.fade),
        invite=invite,
        learn=s.learn,
        codec=Extremes(s.dim, memory=s.memory),
        plan=WindowPlan(s.allocate, window, s.screen),
        transmit=Orthogonal(),
        step=s.step,
        meters=s.meters,
    )

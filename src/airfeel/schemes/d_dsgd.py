"""D-DSGD: as many entries as the channel has room for in a fixed number of slots."""

from dataclasses import dataclass
from typing import Annotated, Literal

from airfeel.compression.extremes import Extremes
from airfeel.compression.norms import Normed
from airfeel.radio.scheduling.frame import WindowPlan
from airfeel.radio.selection.payload_budget import Entries, Granted, RealRates
from airfeel.radio.side_information import asking
from airfeel.radio.transmission.digital import Orthogonal
from airfeel.ranges import Count, about
from airfeel.schemes.settings import Settings
from airfeel.segments import air_slots
from airfeel.types import Codec, Scheme


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
    entries: Entries = "equal"


def d_dsgd(s: Settings) -> Scheme:
    """q_n entries of one sign at their mean, q_n by capacity (Amiri, Gündüz 2020, 1901.00844).

    Per round the digital phase lasts `slots` slots; device n has room for B_n = slots·R_n bits and
    sends the most entries with log2 C(D, q) + 33 ≤ B_n, by `one_sided`. The rest stays in memory.
    `best` is the fading paper's one device of all (arXiv:1907.09769). The 33 bits and the quantiser
    are known from the literature, and were not compared with the authors' text.

    When to use it: as the digital twin of a-dsgd at the same slots and power; it starves where many
    devices share few slots.
    """
    own = s.read(Options)
    window = own.slots or air_slots(round(s.dim / 2), s.subchannels, s.lanes)
    asked = s.invite("random" if s.screen is None and not own.best else "everyone")
    codec: Codec = Extremes(s.dim, memory=s.memory)
    told = int(s.strict_bits and (own.entries == "norm" or any(asking(s.screen))))
    return Scheme(
        name="d-dsgd",
        fade=s.fade if own.capacity == "complex" else RealRates(s.fade),
        invite=Granted(asked, s.dim, window, own.best, s.allocate, own.entries, told),
        learn=s.learn,
        codec=Normed(codec) if own.entries == "norm" else codec,
        plan=WindowPlan(s.allocate, window, s.screen, own.entries, s.strict_bits),
        transmit=Orthogonal(),
        step=s.step,
        meters=s.meters,
    )

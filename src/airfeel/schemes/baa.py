"""BAA and AirFL-Mem: analog aggregation by truncated inversion, without and with memory."""

from dataclasses import dataclass
from typing import Annotated

from airfeel.compression.codecs import Whole, Whom
from airfeel.compression.memory import ErrorMemory, NoMemory
from airfeel.radio.power_control.amplitude import THRESHOLD, Threshold, Truncated
from airfeel.radio.selection.device_selection import Interior
from airfeel.radio.transmission.mean_removal import Centred
from airfeel.ranges import Share, about
from airfeel.schemes.over_the_air import over_the_air
from airfeel.schemes.settings import ByHand, Settings
from airfeel.types import Codec, Invite, Memory, Scheme


@dataclass(frozen=True)
class Options:
    """What `scheme.options` may set of baa and airfl-mem."""

    threshold: Threshold = THRESHOLD
    power_scalar: ByHand = None
    divide: Whom = "heard"
    center: Annotated[bool, about("the mean of the devices' means goes apart")] = False
    interior: Annotated[Share, about("share of devices that are invited, strongest first")] = 1.0
    alternating: Annotated[bool, about("invite all devices in every other round")] = False


def baa(s: Settings) -> Scheme:
    """Broadband analog aggregation (Zhu, Wang, Huang 2020, arXiv:1812.11494).

    All D entries of Δ by air, b = σ_t/h where |h|² ≥ g_th·ḡ_n and silence elsewhere (`Truncated`).
    An entry's mean is over the speakers of its sub-channel. What is truncated is lost: no memory.
    Per round ⌈D/M⌉ slots and no bits; one number of each device, its norm, is side information.
    Use it as the plain rival of every scheme by air. Whether the paper's mean is over all devices
    or over those heard, and its threshold, could not be checked: `divide`, `threshold`.
    """
    return _truncated(s, "baa", NoMemory())


def airfl_mem(s: Settings) -> Scheme:
    """BAA with memory: what is truncated is sent later (Wen, Xing, Simeone, arXiv:2310.16606).

    x = Δ + e; a device keeps in e exactly the segments on which it was silent, and all of x where
    it was silent everywhere, so that deep fades cost time and no information. Costs are those of
    `baa`. Use it where fading, not noise, is the limit. It is known from an abstract: threshold,
    mean and power are those of `baa`.
    """
    return _truncated(s, "airfl-mem", ErrorMemory(silent="add"))


def _truncated(s: Settings, name: str, memory: Memory) -> Scheme:
    own = s.read(Options)
    codec: Codec = Whole(s.memory_or(memory), own.divide)
    codec = Centred(codec) if own.center else codec
    invite: Invite | None = None
    if own.interior < 1.0 and s.inviting is None:
        invite = Interior(own.interior, own.alternating)
    policy = Truncated(own.threshold, s.by_hand(own.power_scalar))
    return over_the_air(s, name, codec, policy, invite, reports=int(own.center))

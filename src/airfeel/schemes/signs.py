"""signSGD with a majority vote, and with error feedback: one bit for each entry."""

from dataclasses import dataclass
from typing import Annotated, Literal

from airfeel.compression.memory import NoMemory
from airfeel.compression.momenta import Signum
from airfeel.compression.signs import ScaledSigns, Signs
from airfeel.ranges import Below1, about
from airfeel.schemes.digital import digital
from airfeel.schemes.settings import Rounds, Settings
from airfeel.types import Scheme


@dataclass(frozen=True)
class Options:
    """What `scheme.options` may set of signsgd."""

    stride: Annotated[Rounds, about("δ, how far a vote moves an entry; over rounds too")] = 1e-3
    momentum: Annotated[Below1, about("β of a device's mean update; 0: none, 0.9: Signum")] = 0.0


@dataclass(frozen=True)
class Scaled:
    """What `scheme.options` may set of ef-signsgd."""

    groups: Annotated[Literal["all", "layers"], about("entries that share a size")] = "all"


def signsgd(s: Settings) -> Scheme:
    """ĝ = δ·sign(Σ_n sgn x_n), x = Δ (Bernstein et al. 2018, arXiv:1802.04434, 1810.05291).

    D bits per device and round. δ = `stride` is the learning rate, since a sign does not know how
    large an update is: how devices train decides only where it points. Its default is this
    project's choice. With `momentum` x is a running mean of updates (Signum). A tie moves nothing.

    When to use it: against noise and cheating devices, and at the fewest bits for a dense update;
    it stops at a distance from the optimum that δ sets, so let δ fall.
    """
    own = s.read(Options)
    memory = s.memory_or(Signum(own.momentum) if own.momentum else NoMemory())
    stride = s.series(own.stride, "stride")
    return digital(s, "signsgd", Signs(s.dim, stride, memory=memory))


def ef_signsgd(s: Settings) -> Scheme:
    """C(x) = (‖x‖₁/D)·sgn x, x = Δ + e, mean over devices (Karimireddy et al. 2019, 1901.09847).

    D bits per device and round. The memory e keeps x − C(x), so that it converges like SGD; the
    learning rate is the devices'. `groups` = "layers" gives each tensor of the model a size of its
    own.

    When to use it: at one bit per entry, in place of signsgd, unless devices cannot remember.
    """
    codec = ScaledSigns(s.dim, s.read(Scaled).groups, s.strict_bits, s.memory)
    return digital(s, "ef-signsgd", codec)

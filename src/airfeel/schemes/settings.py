"""What a scheme is made from: the run's parts and numbers, already checked."""

import dataclasses
from dataclasses import dataclass, field
from typing import Annotated, TypeVar

from airfeel.catalogue import Catalogue, Choice, Table
from airfeel.catalogues import INVITES, SERIES
from airfeel.compression.mask_rules import Top
from airfeel.compression.memory import ErrorMemory
from airfeel.errors import BadInput, quote
from airfeel.radio.allocation.links import Allocator
from airfeel.radio.power_control.power_context import Policy
from airfeel.radio.scheduling.plan import Schedule
from airfeel.ranges import Positive, about
from airfeel.server.steps import Add
from airfeel.types import Fade, Invite, Learn, Mask, Memory, Meter, Screen, Series, Step, at_round

_Options = TypeVar("_Options")
Rounds = Positive | tuple[Positive, ...] | Table  # an option: a number, one per round, a series
ByHand = Annotated[Rounds | None, about("σ_t by hand, in place of the policy's")]
_MASK, _MEMORY = Top(), ErrorMemory()  # these very ones: the settings say nothing


@dataclass(frozen=True)
class NoOptions:
    """What `scheme.options` may set of a scheme that has none."""


@dataclass(frozen=True)
class Settings:
    """Given to every scheme; each takes what it needs."""

    dim: int  # d, numbers in the model
    k_global: int  # K[g], entries of the shared mask
    k_local: int  # K[l], entries of each device's own
    bits: int  # q, bits of a value: 2 to 24, or 32
    scheduled: int  # devices invited at random by the digital schemes
    fade: Fade  # draws the sky
    learn: Learn  # trains locally
    allocate: Allocator  # shares the sub-channels out
    power_scalar: Series = 5.0  # σ_t, one number or one for each round
    alpha: float | tuple[float, ...] = 1.0  # aggressiveness, one or one for each device
    strict_bits: bool = False  # charge 32 bits for each norm of a quantiser, each number reported
    mask: Mask = _MASK  # the rule of the global mask
    memory: Memory = _MEMORY  # what devices keep
    step: Step = field(default_factory=Add)  # moves the model
    amplitude: Policy | None = None  # how loud devices are; each scheme has its default
    screen: Screen | None = None  # whom a plan keeps of those who trained; None for all
    meters: tuple[Meter, ...] = ()  # read further costs
    inviting: Choice | None = None  # who trains; each scheme has its default
    schedule: Schedule | None = None  # who speaks; each plan has its default
    options: Table = field(default_factory=dict)  # scheme.options, see `read`
    devices: int = 1  # N
    subchannels: int = 1  # M
    lanes: int = 1  # values that one element of the air carries
    rounds: int | None = None  # T, the most that are played; None without a limit
    slots: float = float("inf")  # C, uplink slots for the whole training
    pilots: int = 0  # slots of all devices' pilots per round

    def invite(self, default: str) -> Invite:
        """Who is invited to train: what the settings say, or the scheme's default."""
        invite: Invite = INVITES.make(self.inviting or default, **self.facts)
        return invite

    @property
    def facts(self) -> Table:
        """What parts may ask for by name; rules that nobody chose are left to a part's default."""
        facts = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        for name in ("options", "inviting", "rounds", "slots"):  # the last two: words of many parts
            del facts[name]
        if self.schedule is None:
            del facts["schedule"]
        return facts | {"k": self.k_global + self.k_local, "strict": self.strict_bits}

    def mask_or(self, default: Mask) -> Mask:
        """The rule of the mask: what the settings say, or the scheme's default."""
        return default if self.mask is _MASK else self.mask

    def memory_or(self, default: Memory) -> Memory:
        """What devices keep: what the settings say, or the scheme's default."""
        return default if self.memory is _MEMORY else self.memory

    def series(self, value: Rounds, option: str) -> Series:
        """Numbers over the rounds, as an option gave them: also a series by name."""
        if value == ():
            raise BadInput(f"scheme.options.{option} = []: must hold a number for each round")
        if not isinstance(value, dict):
            return value
        facts = {} if self.rounds is None else {"rounds": self.rounds}
        series: Series = SERIES.make(value, f"scheme.options.{option}", **facts)
        for t in range(1, (self.rounds or 1) + 1):
            if not 0.0 <= (number := at_round(series, t)) < float("inf"):
                told = f"scheme.options.{option} = {quote(value)}: is {quote(number)} in round {t}"
                raise BadInput(f"{told}, must be 0 or more")
        return series

    def by_hand(self, value: Rounds | None) -> Series | None:
        """σ_t as scheme.options.power_scalar gave it; None where the policy has its own."""
        return None if value is None else self.series(value, "power_scalar")

    def read(self, kind: type[_Options]) -> _Options:
        """scheme.options as a dataclass of the scheme's own: checked by name, type and range."""
        if "<locals>" in kind.__qualname__:
            told = f"{kind.__name__} must be defined at the top of its module, not in a function"
            raise BadInput(f"scheme.options: {told}")
        where = f"{kind.__module__}:{kind.__qualname__}"
        options: _Options = Catalogue("options", "scheme.options", {}).make(
            {**self.options, "name": where}
        )
        return options

"""What a scheme is made from: the run's parts and numbers, already checked."""

from dataclasses import dataclass, field

from airfeel.catalogue import Choice, Table
from airfeel.catalogues import INVITES
from airfeel.compress.mask_rules import Top
from airfeel.compress.memory import ErrorMemory
from airfeel.radio.links import Allocator
from airfeel.radio.plan import Schedule
from airfeel.server.steps import Add
from airfeel.types import Fade, Invite, Learn, Mask, Memory, Meter, Series, Step


@dataclass(frozen=True)
class Settings:
    """Given to every scheme; each takes what it needs."""

    dim: int
    k_global: int
    k_local: int
    bits: int
    scheduled: int  # devices invited at random by the digital schemes
    fade: Fade
    learn: Learn
    allocate: Allocator
    power_scalar: Series = 5.0
    alpha: float | tuple[float, ...] = 1.0
    strict_bits: bool = False
    mask: Mask = field(default_factory=Top)
    memory: Memory = field(default_factory=ErrorMemory)
    step: Step = field(default_factory=Add)
    meters: tuple[Meter, ...] = ()
    inviting: Choice | None = None  # who trains; each scheme has its default
    schedule: Schedule | None = None  # who speaks; each plan has its default
    options: Table = field(default_factory=dict)  # a user's own scheme.options

    def invite(self, default: str) -> Invite:
        """Who is invited to train: what the settings say, or the scheme's default."""
        invite: Invite = INVITES.make(self.inviting or default, scheduled=self.scheduled)
        return invite

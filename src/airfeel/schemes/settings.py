"""What a scheme is made from: the run's parts and numbers, already checked."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from airfeel.radio.links import Allocator
from airfeel.radio.schedule import SCHEDULERS
from airfeel.types import Fade, Invite, Learn, Schedule

THRIFTY = "thrifty"


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
    power_scalar: Schedule = 5.0
    alpha: float | tuple[float, ...] = 1.0
    strict_bits: bool = False
    scheduler: str | None = None  # one of SCHEDULERS, or thrifty; each scheme has its default
    options: Mapping[str, Any] = field(default_factory=dict)  # a user's own scheme.options

    def invite(self, default: str) -> Invite:
        """Who is invited to train; the scheme's default also where the plan is thrifty."""
        name = default if self.scheduler in (None, THRIFTY) else self.scheduler
        return SCHEDULERS[name](self.scheduled)

    @property
    def thrifty(self) -> bool:
        """Whether the plan may drop slow devices to have more heard per slot."""
        return self.scheduler == THRIFTY

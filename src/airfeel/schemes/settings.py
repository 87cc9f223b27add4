"""What a scheme is made from: the run's parts and numbers, already checked."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from airfeel.radio.allocate import Allocator
from airfeel.types import Fade, Learn, Schedule


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
    options: Mapping[str, Any] = field(default_factory=dict)  # a user's own scheme.options

"""The allocators by name."""

from collections.abc import Callable
from functools import partial

from airfeel.radio.allocators.exact import Exact
from airfeel.radio.allocators.exchange import Exchange
from airfeel.radio.allocators.paper import Paper
from airfeel.radio.allocators.plain import RoundRobin, SumRate
from airfeel.radio.links import Allocation, Allocator

__all__ = [
    "ALLOCATORS",
    "Allocation",
    "Allocator",
    "Exact",
    "Exchange",
    "Paper",
    "RoundRobin",
    "SumRate",
]

ALLOCATORS: dict[str, Callable[[], Allocator]] = {
    "paper": Paper,
    "equal-power": partial(Paper, fill="equal"),
    "exchange": Exchange,
    "exact": Exact,
    "sum-rate": SumRate,
    "round-robin": RoundRobin,
}

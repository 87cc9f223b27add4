"""What is proven of the schemes, as functions: of TCS-H by its paper, of `backlog` in its page."""

from airfeel.theory.backlog import (
    convex_bound,
    longest_wait,
    mean_loss_bound,
    memory_bound,
    smooth_bound,
)
from airfeel.theory.tcs_h import (
    Bound,
    contraction,
    convergence_bound,
    learning_rate,
    power_scalar,
    smallest_a,
)

__all__ = [
    "Bound",
    "contraction",
    "convergence_bound",
    "convex_bound",
    "learning_rate",
    "longest_wait",
    "mean_loss_bound",
    "memory_bound",
    "power_scalar",
    "smallest_a",
    "smooth_bound",
]

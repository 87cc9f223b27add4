"""How long an update may be that is taken from a node."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float64

from airfeel.types import BadInput

TOO_LONG = "norm-above-bound"  # a device's reason beside those of airfeel.types.Reason


@dataclass(frozen=True)
class NormBound:
    """Updates that are longer than `most`, or than `factor` times the median, are not taken.

    The norm is that of what a device sends digitally: what is summed in the air is bounded by the
    power rule. A device whose update was not taken keeps all of it in its memory.

    most: ‖x‖₂; infinite for no such bound. factor: of the median norm of all that were heard in the
    round, from 1 and for three or more of them; infinite for no such bound.

    >>> NormBound(factor=3.0).refused(np.array([1.0, 2.0, 1e9]))
    array([False, False,  True])
    """

    most: float = float("inf")
    factor: float = float("inf")

    def __post_init__(self) -> None:
        if not self.most > 0.0:
            raise BadInput(f"bound.most = {self.most}: must be above 0")
        if not self.factor >= 1.0:
            raise BadInput(f"bound.factor = {self.factor}: must be at least 1")

    def refused(self, norms: Float64[np.ndarray, "n"]) -> Bool[np.ndarray, "n"]:
        """Whose update is too long; norms: ‖x_n‖₂ of each device that was heard."""
        too_long = norms > self.most
        if len(norms) >= 3 and np.isfinite(self.factor):
            too_long |= norms > self.factor * np.median(norms)
        return np.asarray(too_long)

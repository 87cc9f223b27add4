"""A partition: devices whose sizes fall off geometrically.

airfeel run digits-tcs-h --set data.partition=long_tail:LongTail --set data.partition.ratio=0.8
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from airfeel.parts import Positive, about


@dataclass(frozen=True)
class LongTail:
    """Device n + 1 has about `ratio` times as many samples as device n, and at least one."""

    ratio: Annotated[Positive, about("size of a device over that of the one before")] = 0.7

    def __call__(self, labels, devices, *, rng):
        share = np.cumsum(self.ratio ** np.arange(devices))
        spare = len(labels) - devices  # beside one for each
        cuts = np.floor(share[:-1] / share[-1] * spare).astype(int) + np.arange(1, devices)
        return [np.sort(part) for part in np.split(rng.permutation(len(labels)), cuts)]

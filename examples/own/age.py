"""A mask rule by age: some of the shared mask goes to the entries that waited longest.

airfeel run digits-tcs-h --set scheme.mask=age:ByAge --set scheme.mask.old=0.3
"""

from dataclasses import dataclass
from typing import Annotated

import torch

from airfeel.parts import Share, about, top_k, top_k_outside


@dataclass(frozen=True)
class ByAge:
    """The oldest entries, and beside them the largest of the last update.

    Carried as `age` [D]: rounds since an entry was last received from anybody.
    """

    old: Annotated[Share, about("share of the mask that goes by age")] = 0.5

    def __call__(self, turn, k):
        oldest = top_k(turn.state_of(self)["age"], round(self.old * k))
        largest = top_k_outside(turn.state.update, k - len(oldest), oldest)
        return torch.cat([oldest, largest]).sort().values

    def begin(self, turn):
        return {"age": torch.zeros_like(turn.state.update)}

    def advance(self, turn, happened):
        age = turn.state_of(self)["age"] + 1.0
        if happened.decoded is not None:
            age[happened.decoded.fresh] = 0.0
        return {"age": age}

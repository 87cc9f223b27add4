"""An invitation rule: the online scheduler of drift plus penalty (Lyapunov), on energy queues.

airfeel run digits-tcs-d --set scheme.invite=energy_queue:Thrifty --set scheme.invite.weight=10
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from airfeel.parts import Count, Invited, Positive, about, capacity, lowest, power_left


@dataclass(frozen=True)
class Thrifty:
    """Invites the `scheduled` devices of smallest Q_n/P̄_n − V·capacity_n.

    Carried as `queue` [N]: Q_n ← max(Q_n + energy_n − P̄_n·slots, 0), what a device has spent above
    its average power so far [W·slots].
    """

    scheduled: Annotated[Count, about("devices that are invited in a round")]
    weight: Annotated[Positive, about("V, what rate is worth beside energy", "slots²/bit")] = 1.0

    def __call__(self, turn, fading):
        power = power_left(turn)
        debt = turn.state_of(self)["queue"] / turn.world.power
        return Invited(lowest(debt - self.weight * capacity(power, fading), self.scheduled, power))

    def begin(self, turn):
        return {"queue": np.zeros(turn.world.devices)}

    def advance(self, turn, happened):
        costs, queue = happened.costs, turn.state_of(self)["queue"]
        return {"queue": np.maximum(queue + costs.energy - turn.world.power * costs.slots, 0.0)}

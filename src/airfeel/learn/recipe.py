"""What makes up a local step beside its rule, the same for all backends; all of it off by default.

g = ∇F(w; augment(batch))
"""

from dataclasses import dataclass, field

from airfeel.learn.augment import Augment


@dataclass(frozen=True)
class Recipe:
    """Training settings that every backend carries out, or refuses with a reason.

    augment: what is done to each image of a batch.
    """

    augment: Augment = field(default_factory=Augment)

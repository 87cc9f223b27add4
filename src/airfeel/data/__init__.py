"""Where samples come from, and which device holds which."""

from airfeel.data.own import from_arrays, from_samples
from airfeel.data.samples import Samples

__all__ = ["Samples", "from_arrays", "from_samples"]

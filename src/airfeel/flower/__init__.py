"""airfeel in a Flower federation: a client mod that compresses, a strategy that plans the radio.

`AirMod` goes around any ClientApp's train function: error memory, both masks, the quantiser and the
wire. `AirStrategy` goes around another strategy: scheduling, sub-channels, channel, aggregation and
accounting. Superposition is simulated: the server sees every reply, sums them and adds the noise.
"""

import importlib
from typing import Any

from airfeel.types import BadInput

_DOOR = {
    "AirMod": "airfeel.flower.mod",
    "AirStrategy": "airfeel.flower.strategy",
    "NormBound": "airfeel.flower.bound",
    "Supplied": "airfeel.flower.parts",
    "radio_only": "airfeel.flower.parts",
}


def __getattr__(name: str) -> Any:
    """The rooms import flwr, which is an extra: they are opened when somebody asks for them."""
    if name not in _DOOR:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        importlib.import_module("flwr")
    except ImportError as error:
        raise BadInput('flwr is missing: install it with pip install "airfeel[flower]"') from error
    return getattr(importlib.import_module(_DOOR[name]), name)

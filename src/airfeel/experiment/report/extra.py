"""The packages of the extra `report`, imported only where they are used."""

import importlib
from typing import Any

from airfeel.types import BadInput


def needed(module: str) -> Any:
    """A module of the extra, or one line on how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        name = module.partition(".")[0]
        raise BadInput(
            f'{name} is missing: install it with pip install "airfeel[report]"'
        ) from error

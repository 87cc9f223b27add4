"""Packages that airfeel can do without, imported only where they are used."""

import importlib
from types import ModuleType

from airfeel.types import BadInput


def needed(module: str, install: str = '"airfeel[report]"') -> ModuleType:
    """An optional module, or one line on how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        name = module.partition(".")[0]
        raise BadInput(f"{name} is missing: install it with pip install {install}") from error

"""Looking up a part by name, or a user's own by `module:factory`."""

import difflib
import importlib
from collections.abc import Callable, Mapping
from typing import Any

from airfeel.types import BadInput


def look_up(name: str, key: str, catalogue: Mapping[str, Callable[..., Any]]) -> Callable[..., Any]:
    """What `name` stands for; `key` is the setting to blame if it stands for nothing."""
    if name in catalogue:
        return catalogue[name]
    module, _, attribute = name.partition(":")
    if not attribute:
        hint = suggestion(name, catalogue)
        legal = ", ".join(catalogue)
        raise BadInput(f"{key} = {name!r}: must be one of {legal}, or module:factory{hint}")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise BadInput(f"{key} = {name!r}: cannot be imported ({error})") from error
    if not callable(found):
        raise BadInput(f"{key} = {name!r}: must name something that can be called")
    return found


def suggestion(word: str, legal: Mapping[str, Any] | list[str]) -> str:
    """`; did you mean 'x'?`, or nothing."""
    close = difflib.get_close_matches(word, list(legal), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""

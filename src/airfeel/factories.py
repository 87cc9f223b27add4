"""Import the factory that a setting names as `module:factory`; refuse what cannot be one.

A setting may come from a file of unknown origin. Python's standard library has no components, but
functions that run commands and delete files, so it is refused before anything is imported. What a
class or a signature declares is compared with the kind of component before it is called.
"""

import importlib
import inspect
import os
import sys
from collections.abc import Callable
from typing import Any, get_origin, get_type_hints

from airfeel.errors import BadInput, reason

Factory = Callable[..., Any]
_VALUES = (bool, bytes, float, int, str, type(None))  # no component is one of these


def load(name: str, blame: str, protocol: type | None = None) -> Factory:
    """Import a factory by `module:factory`.

    blame: what a message begins with. protocol: what its components must be, if that is known.
    """
    module = name.partition(":")[0]
    if _standard(module):
        raise BadInput(f"{blame}: is in Python's standard library; must be in another module")
    if module not in sys.modules:
        _search_current_folder()
    found = imported(name, blame)
    _check_kind(found, blame)
    _check_declared(found, blame, protocol)
    return found


def imported(name: str, blame: str) -> Factory:
    """Import what `module:name` names, and nothing more."""
    module, _, attribute = name.partition(":")
    try:
        found: Factory = getattr(importlib.import_module(module), attribute)
    except (Exception, SystemExit) as error:  # a module can raise anything
        plain = module.removesuffix(".py").removeprefix("./").replace("/", ".")
        hint = f"; did you mean '{plain}:{attribute}'?" if plain != module else ""
        raise BadInput(f"{blame}: cannot be imported ({why(error)}){hint}") from error
    return found


def why(error: BaseException) -> str:
    """What went wrong in code that may be a user's, in one line."""
    if isinstance(error, ImportError | AttributeError | ValueError | TypeError):
        return reason(error)
    return f"{type(error).__name__}: {reason(error)}"


def called_with(protocol: type) -> list[inspect.Parameter]:
    """The parameters with which a component is called; none where it is not called."""
    call = vars(protocol).get("__call__")
    asked = list(inspect.signature(call).parameters.values())[1:] if call else []
    return [] if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in asked) else asked


def binds(call: Factory, asked: list[inspect.Parameter], *before: object) -> bool:
    """Whether something can be called with these parameters, after some that are given."""
    try:
        inspect.signature(call).bind(
            *before,
            *(p.name for p in asked if p.kind is not p.KEYWORD_ONLY),
            **{p.name: None for p in asked if p.kind is p.KEYWORD_ONLY},
        )
    except TypeError:
        return False
    except ValueError:  # of a builtin: it does not say how it is called
        pass
    return True


def _standard(module: str) -> bool:
    return module.partition(".")[0] in sys.stdlib_module_names


def _search_current_folder() -> None:
    """Let the current folder be searched for modules, after all others."""
    try:
        folder = os.getcwd()
    except OSError:  # it was removed
        return
    if folder not in sys.path and "" not in sys.path:
        sys.path.append(folder)


def _check_kind(found: object, blame: str) -> None:
    """Refuse what is neither a class nor a function in Python, or is one of the standard library.

    A module may import such a function under its own name: what counts is where it is defined.
    """
    inner = inspect.unwrap(found) if callable(found) else found
    if not inspect.isclass(inner) and not inspect.isfunction(inner):
        kind = "a builtin function" if inspect.isbuiltin(inner) else type(inner).__name__
        raise BadInput(f"{blame}: is {kind}; must be a class or a function")
    home = str(getattr(inner, "__module__", ""))
    if _standard(home):
        raise BadInput(
            f"{blame}: is {home}.{inner.__name__} of Python's standard library; must be defined "
            "in another module"
        )


def _check_declared(found: Factory, blame: str, protocol: type | None) -> None:
    """Refuse a class, or a function whose declared result is one, that lacks what is needed."""
    made = found if inspect.isclass(found) else _result(found)
    if made is None or made is protocol:
        return
    wanted = f"must make a {protocol.__name__}" if protocol else "must make a component"
    if made in _VALUES:
        raise BadInput(f"{blame}: {wanted}, is declared to return {made.__name__}")
    if protocol is None:
        return
    if lacks := [name for name in _methods(protocol) if not _has(made, name)]:
        raise BadInput(f"{blame}: {wanted}, {made.__name__} has no {', '.join(lacks)}")
    asked, call = called_with(protocol), getattr(made, "__call__", None)  # noqa: B004
    if asked and inspect.isfunction(call) and not binds(call, asked, None):
        words = ", ".join(p.name for p in asked)
        raise BadInput(f"{blame}: {wanted}, {made.__name__} cannot be called with ({words})")


def _result(function: Factory) -> type | None:
    """The class that a function says it returns; None where it says nothing, or no class."""
    try:
        hint = get_type_hints(function).get("return")
    except Exception:  # shapes of jaxtyping are no names
        return None
    if inspect.isclass(get_origin(hint)):
        return None
    return hint if inspect.isclass(hint) and hint is not object else None


def _methods(protocol: type) -> list[str]:
    """What a component of that kind must be able to do."""
    members = vars(protocol).items()
    return [k for k, v in members if inspect.isfunction(v) and (k == "__call__" or k[0] != "_")]


def _has(made: type, name: str) -> bool:
    """Whether objects of a class have a method, or a field of that name."""
    if name == "__call__":  # every class can be called itself
        return any(name in vars(each) for each in made.__mro__)
    fields = (name in getattr(each, "__annotations__", {}) for each in made.__mro__)
    return hasattr(made, name) or hasattr(made, "__getattr__") or any(fields)

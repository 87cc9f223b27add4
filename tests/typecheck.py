"""The run-time type checker of the tests: beartype, where an int may stand for a float.

jaxtyping's own hook binds the arguments of every call, checks them twice, and compiles a checker
for every function that is made within another, each time. Here each value is checked once, and
functions within functions are left to mypy unless they name shapes.
"""

import dataclasses
from collections.abc import Callable
from functools import partial, wraps
from inspect import isclass, isgeneratorfunction
from types import FunctionType
from typing import Any, ForwardRef, get_args

import jaxtyping
from beartype import BeartypeConf, beartype
from jaxtyping import AbstractArray, install_import_hook, jaxtyped

checked = beartype(conf=BeartypeConf(is_pep484_tower=True))


def install(package: str) -> None:
    """Check every call within a package that is imported from now on."""
    jaxtyping.jaxtyped = typed  # what the hook puts above every function and class
    install_import_hook(package, "typecheck.checked")


def typed(fn: Any = None, *, typechecker: Callable) -> Any:
    """As `jaxtyping.jaxtyped`, at less cost."""
    if fn is None:
        return partial(typed, typechecker=typechecker)
    if isinstance(fn, FunctionType):
        return _function(fn, typechecker)
    if isclass(fn) and dataclasses.is_dataclass(fn):
        made = vars(fn).get("__init__")
        if isinstance(made, FunctionType) and not hasattr(made, "__wrapped__"):
            fn.__init__ = _function(made, typechecker)
        return fn
    return jaxtyped(fn, typechecker=typechecker)


def _function(fn: FunctionType, typechecker: Callable) -> Callable:
    hints = [inner for hint in fn.__annotations__.values() for inner in _within(hint)]
    if any(isinstance(hint, str | ForwardRef) for hint in hints) or isgeneratorfunction(fn):
        return jaxtyped(fn, typechecker=typechecker)  # names must be looked up
    shapes = [hint for hint in hints if isclass(hint) and issubclass(hint, AbstractArray)]
    if not shapes and "<locals>" in fn.__qualname__.partition(".")[2]:
        return fn
    strict = typechecker(fn)
    if named := any("{" in shape.dim_str for shape in shapes):  # the numbers of some parameters
        strict = jaxtyped(strict, typechecker=None)

    @wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        if jaxtyping.config.jaxtyping_disable:
            return fn(*args, **kwargs)
        if named or not shapes:
            return strict(*args, **kwargs)
        with jaxtyped("context"):  # letters stand for one number each within this call
            return strict(*args, **kwargs)

    return call


def _within(hint: object) -> list[object]:
    """A hint, and those that it is made of."""
    return [hint, *(inner for arg in get_args(hint) for inner in _within(arg))]

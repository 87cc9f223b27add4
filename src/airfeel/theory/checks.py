"""What the arguments of a bound must be."""

import math

from airfeel.errors import BadInput


def sizes(**values: int) -> None:
    """Each is a whole number, at least 1."""
    for name, value in values.items():
        whole(name, value, 1)


def whole(name: str, value: int, least: int, most: int | None = None) -> None:
    """A whole number from `least` on, perhaps to `most`."""
    if value % 1 != 0 or value < least or (most is not None and value > most):
        legal = f"at least {least}" if most is None else f"from {least} to {most}"
        raise BadInput(f"{name} = {value}: must be a whole number, {legal}")


def positive(name: str, value: float) -> None:
    """Finite and above 0."""
    if not 0.0 < value < math.inf:
        raise BadInput(f"{name} = {value}: must be finite and above 0")


def at_least_zero(**values: float) -> None:
    """Each is finite and not negative."""
    for name, value in values.items():
        if not 0.0 <= value < math.inf:
            raise BadInput(f"{name} = {value}: must be finite and at least 0")

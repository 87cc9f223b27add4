"""The checker that every test runs under notices what it is for."""

from collections.abc import Iterator
from dataclasses import dataclass

import jaxtyping
import numpy as np
import pytest
from beartype.roar import BeartypeCallHintViolation
from jaxtyping import Float, TypeCheckError

from airfeel.radio.transmission.air import superpose
from typecheck import checked, typed

WRONG = (BeartypeCallHintViolation, TypeCheckError)
Row = Float[np.ndarray, "n"]
check = typed(typechecker=checked)


@check
def added(one: Row, other: Row, times: float = 1.0) -> Row:
    return np.resize(one + times * other[: len(one)], len(one) if times else 1)


@check
def ones(count: int, more: int = 0) -> Float[np.ndarray, "{count}"]:
    return np.ones(count + more)


@check
@dataclass(frozen=True)
class Part:
    count: int
    row: "Row"


@check
def plain(text: str) -> str:
    @check
    def within(row: Row, number: int) -> Row:
        return row[:number]

    @check
    def unchecked(number: int) -> int:
        return number

    return text if len(within(np.ones(2), 2)) == unchecked(2) else ""


@check
def each(rows: list[Row]) -> Iterator[Row]:
    yield from rows


def test_letters_stand_for_one_number_within_a_call():
    assert added(np.ones(2), np.ones(2)).sum() == 4
    assert added(np.ones(3), np.ones(3), 2).sum() == 9  # an int may stand for a float
    with pytest.raises(WRONG):
        added(np.ones(2), np.ones(3))
    with pytest.raises(WRONG):
        added(np.ones(2), np.ones((2, 2)))
    with pytest.raises(WRONG):
        added(np.ones(2), np.ones(2, dtype=int))
    with pytest.raises(WRONG):
        added(np.ones(2), np.ones(2), 0.0)  # what is returned is checked, too


def test_a_shape_may_be_that_of_a_number():
    assert len(ones(2)) == 2
    with pytest.raises(WRONG):
        ones(2, 1)


def test_types_are_checked_of_functions_and_parts():
    assert plain("a") == "a"
    with pytest.raises(WRONG):
        plain(1)
    assert Part(1, np.ones(1)).count == 1
    for count, row in (("1", np.ones(1)), (1, np.ones((1, 1)))):
        with pytest.raises(WRONG):
            Part(count, row)
    assert len(list(each([np.ones(1)]))) == 1


def test_it_is_there_in_the_package_and_can_be_switched_off(monkeypatch):
    assert hasattr(superpose, "__wrapped__")
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
    assert added(np.ones(1), np.ones(2)).sum() == 2
    assert plain(1) == 1

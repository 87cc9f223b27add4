"""From settings to local training: the recipe, its backend, and numbers over the rounds."""

import math
from contextlib import suppress

import numpy as np

from airfeel.catalogue import Table, name_of
from airfeel.catalogues import AUGMENTS, BACKENDS, RULES, SERIES
from airfeel.errors import quote
from airfeel.handed import guarded
from airfeel.settings.config import SQUARES, Experiment
from airfeel.training.augment import Augment
from airfeel.training.backends import Backend
from airfeel.training.flat import FlatModel
from airfeel.training.local_sgd import LocalSGD
from airfeel.training.recipe import Recipe
from airfeel.types import BadInput, Dataset, Series, at_round


def local_training(
    e: Experiment, model: FlatModel, data: Dataset, prefer: str | None = None
) -> LocalSGD:
    """Local training as the settings describe it.

    prefer: the backend where `auto` may choose one, if it can be had.
    """
    t = e.training
    recipe = recipe_of(e)
    if t.label_smoothing and not data.classes:
        raise BadInput(
            f"training.label_smoothing = {t.label_smoothing}: must be 0 where targets are numbers"
        )
    return LocalSGD(
        _backend(e, model, data, recipe, prefer),
        t.local_steps,
        None if t.batch_size == "all" else t.batch_size,
        series(t.learning_rate, "training.learning_rate", t.rounds, zero=True),
        recipe.augment,
        t.update_clip,
    )


def recipe_of(e: Experiment) -> Recipe:
    """What the settings say of a local step beside its rule."""
    t = e.training
    return Recipe(
        augment=Augment(tuple(AUGMENTS.make(each) for each in e.data.augment)),
        weight_decay=t.weight_decay,
        clip_norm=t.clip_norm,
        label_smoothing=t.label_smoothing,
    )


def used_recipe(e: Experiment) -> list[str]:
    """Name the settings of the recipe that are not at their defaults."""
    clip = ["training.update_clip"] if e.training.update_clip is not None else []
    return recipe_of(e).used + clip


def _backend(
    e: Experiment, model: FlatModel, data: Dataset, recipe: Recipe, prefer: str | None
) -> Backend:
    chosen = e.training.backend
    takes = BACKENDS.settings(name_of(chosen))
    if e.training.rule is not None and "rule" not in takes:
        raise BadInput(f"training.rule: backend {name_of(chosen)!r} takes no rule")
    if recipe.used and "recipe" not in takes:
        raise BadInput(f"{recipe.used[0]}: backend {name_of(chosen)!r} takes no recipe")
    facts = {
        "model": model,
        "data": data,
        "rule": RULES.make(e.training.rule or "sgd"),
        "dropout": bool(np.any(e.model.dropout)),
        "recipe": recipe,
    }
    if prefer is not None and prefer in BACKENDS and name_of(chosen) == "auto":
        with suppress(BadInput):
            preferred: Backend = BACKENDS.make(prefer, **facts)
            return preferred
    backend: Backend = BACKENDS.make(chosen, **facts)
    return backend


def series(
    value: float | tuple[float, ...] | Table, key: str, rounds: int | None, *, zero: bool = False
) -> Series:
    """Numbers over the rounds: as they are, or a series by name, checked round by round."""
    if not isinstance(value, dict):
        return value
    made: Series = SERIES.make(value, key, **({} if rounds is None else {"rounds": rounds}))
    for t in range(1, (rounds or 1) + 1):
        with guarded(key, made):
            number = at_round(made, t)
        legal = isinstance(number, int | float) and 0.0 <= number < math.inf
        if not legal or (not zero and not SQUARES[0] <= number <= SQUARES[1]):
            shown = f"{key} = {quote(value)}: is {quote(number)} in round {t}"
            raise BadInput(f"{shown}, must be {_legal(zero)}")
    return made


def _legal(zero: bool) -> str:
    return "0 or more" if zero else f"between {SQUARES[0]} and {SQUARES[1]}"

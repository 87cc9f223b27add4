"""Every part of every catalogue keeps its contract; a new line there is picked up by itself.

A part is put in its place in a small run, the first of some in which it can be (a model may need
larger pictures, a kernel float32). What it needs and has no default for is made up by its type.
"""

import dataclasses
import inspect
import pickle
from itertools import product
from typing import Annotated, get_args, get_origin

import numpy as np
import pytest
import torch
from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from airfeel import catalogues
from airfeel.catalogue import Catalogue
from airfeel.catalogues import ALLOCATORS, SCHEMES
from airfeel.experiment.build import build
from airfeel.experiment.load import experiment, load, place, presets
from airfeel.experiment.store import as_toml
from airfeel.learn.backends import Backend
from airfeel.learn.rules import Rule
from airfeel.radio.allocate import Allocator
from airfeel.radio.fading import Draw
from airfeel.types import (
    BadInput,
    Codec,
    Fade,
    Invite,
    MakePlan,
    Mask,
    Memory,
    Meter,
    Network,
    Reason,
    Scheme,
    Step,
    Transmit,
)
from renaming import assert_renamed, renamed
from small import BASE, play, small

CATALOGUES = [c for c in vars(catalogues).values() if isinstance(c, Catalogue)]
LINES = [
    pytest.param(c, name, id=f"{c.key}={name}") for c in CATALOGUES for name in c
]
MADE_UP = [0.5, 1.0, 3, "gains.npy"]  # for settings without a default: the first that is legal
PLACES = {  # by setting: what its parts are, and where one is found in a run
    "scheme.name": (Scheme, lambda s: s.scheme),
    "radio.fading": (Draw, lambda s: s.scheme.fade.draw),
    "scheme.fade": (Fade, lambda s: s.scheme.fade),
    "scheme.invite": (Invite, lambda s: s.scheme.invite),
    "scheme.codec": (Codec, lambda s: s.scheme.codec),
    "scheme.mask": (Mask, lambda s: s.scheme.codec.mask),
    "scheme.memory": (Memory, lambda s: s.scheme.codec.memory),
    "scheme.plan": (MakePlan, lambda s: s.scheme.plan),
    "scheme.transmit": (Transmit, lambda s: s.scheme.transmit),
    "scheme.step": (Step, lambda s: s.scheme.step),
    "radio.meters": (Meter, lambda s: s.scheme.meters[0]),
    "radio.allocator": (Allocator, lambda s: s.scheme.plan.allocate),
    "training.rule": (Rule, lambda s: s.scheme.learn.backend.rule),
    "training.learning_rate": (object, lambda s: s.scheme.learn.learning_rate),
    "training.backend": (Backend, lambda s: s.scheme.learn.backend),
    "model.name": (Network, lambda s: s.world.model),
}
NAMELESS = {  # parts for which a device's number is more than a name
    ("radio.fading", "trace"),
    ("scheme.invite", "round-robin"),
    ("radio.allocator", "round-robin"),
}

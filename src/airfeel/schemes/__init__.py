"""Whole algorithms, each a few lines that name parts."""

from collections.abc import Callable

from airfeel.schemes.fedavg import fedavg
from airfeel.schemes.settings import Settings
from airfeel.schemes.tcs_d import tcs_d
from airfeel.schemes.tcs_h import tcs_h
from airfeel.schemes.top_k import top_k
from airfeel.types import Scheme

SCHEMES: dict[str, Callable[[Settings], Scheme]] = {
    "tcs-h": tcs_h,
    "tcs-d": tcs_d,
    "top-k": top_k,
    "fedavg": fedavg,
}

__all__ = ["SCHEMES", "Settings"]

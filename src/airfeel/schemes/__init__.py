"""Whole algorithms, each a few lines that name parts."""

from airfeel.catalogues import SCHEMES
from airfeel.schemes.settings import Settings

__all__ = ["SCHEMES", "Settings"]

"""The version of the package that is installed."""

from importlib import metadata

VERSION = metadata.version("airfeel")

"""A page, figures and tables of runs, from their stored rows only."""

from collections.abc import Mapping, Sequence

Json = Mapping[str, "Json"] | Sequence["Json"] | str | int | float | None

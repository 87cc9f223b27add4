"""Random projections that all devices share by a seed: fewer numbers than entries, for the air."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Literal, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float64, Int64
from scipy.fft import dct, idct, next_fast_len

from airfeel.errors import BadInput
from airfeel.ranges import about
from airfeel.streams import Streams

Kind = Annotated[
    Literal["auto", "gaussian", "dct"],
    about("gaussian (a matrix), dct (a fast transform), or auto: gaussian where that is small"),
]
_ENTRIES = 2**27  # of a Gaussian matrix: a gigabyte


@runtime_checkable
class Projection(Protocol):
    """A [s̃ D] whose columns have norm 1 in the mean; a product belongs to one vector alone."""

    @property
    def rows(self) -> int: ...
    @property
    def dim(self) -> int: ...
    def apply(self, x: Float64[np.ndarray, "D"]) -> Float64[np.ndarray, "s"]: ...
    def adjoint(self, z: Float64[np.ndarray, "s"]) -> Float64[np.ndarray, "D"]: ...


@dataclass(frozen=True)
class Gaussian:
    """A_ij ~ N(0, 1/s̃), held as its seed; costs s̃·D multiplications.

    Products are sums in one order, so that no number of threads changes them.

    >>> A, x = Gaussian(seed=1, rows=2000, dim=3), np.array([1.0, 0.0, 2.0])
    >>> A.adjoint(A.apply(x)).round(1)
    array([ 0.9, -0. ,  1.9])
    """

    seed: int  # whoever has the same one has the same matrix
    rows: int  # s̃
    dim: int  # D

    def __post_init__(self) -> None:
        if self.rows * self.dim > _ENTRIES:
            raise BadInput(
                f"projection = 'gaussian': {self.rows} × {self.dim} entries are more than "
                f"{_ENTRIES}; use 'dct'"
            )

    def apply(self, x: Float64[np.ndarray, "D"]) -> Float64[np.ndarray, "s"]:
        """A x."""
        return np.asarray(np.einsum("d,ds->s", x, _columns(self.seed, self.rows, self.dim)))

    def adjoint(self, z: Float64[np.ndarray, "s"]) -> Float64[np.ndarray, "D"]:
        """Aᵀ z."""
        return np.asarray(np.einsum("ds,s->d", _columns(self.seed, self.rows, self.dim), z))


@dataclass(frozen=True)
class Cosine:
    """A = √(D'/s̃)·R·C·diag(ε): random signs, a DCT-II of fast length D' ≥ D, s̃ of its outputs.

    Costs D log D. At s̃ = D' its columns are orthonormal.

    >>> A, x = Cosine(seed=1, rows=4, dim=4), np.array([1.0, 0.0, 2.0, -1.0])
    >>> np.allclose(A.adjoint(A.apply(x)), x)
    True
    """

    seed: int  # whoever has the same one has the same matrix
    rows: int  # s̃
    dim: int  # D

    def __post_init__(self) -> None:
        if self.rows > self.length:
            raise BadInput(
                f"projection = 'dct': {self.rows} measurements of {self.dim} entries; "
                f"must be at most {self.length}"
            )

    @property
    def length(self) -> int:
        """D', a length at which the transform is fast."""
        return next_fast_len(self.dim, real=True)

    @property
    def _scale(self) -> float:
        return float(np.sqrt(self.length / self.rows))

    def apply(self, x: Float64[np.ndarray, "D"]) -> Float64[np.ndarray, "s"]:
        """A x."""
        sign, kept = _signs_and_rows(self.seed, self.rows, self.dim, self.length)
        padded = np.zeros(self.length)
        padded[: self.dim] = sign * x
        return np.asarray(self._scale * dct(padded, norm="ortho", overwrite_x=True)[kept])

    def adjoint(self, z: Float64[np.ndarray, "s"]) -> Float64[np.ndarray, "D"]:
        """Aᵀ z."""
        sign, kept = _signs_and_rows(self.seed, self.rows, self.dim, self.length)
        spread = np.zeros(self.length)
        spread[kept] = self._scale * z
        return np.asarray(sign * idct(spread, norm="ortho", overwrite_x=True)[: self.dim])


@dataclass(frozen=True)
class Some:
    """Some rows of a projection, scaled so that its columns keep norm 1 in the mean.

    whole: the projection. kept: which of its rows; at least one.
    """

    whole: Projection
    kept: Bool[np.ndarray, "s"]

    @property
    def rows(self) -> int:
        """How many are left."""
        return int(np.count_nonzero(self.kept))

    @property
    def dim(self) -> int:
        """D."""
        return self.whole.dim

    @property
    def scale(self) -> float:
        """√(rows of the whole/rows that are left)."""
        return float(np.sqrt(self.whole.rows / self.rows))

    def apply(self, x: Float64[np.ndarray, "D"]) -> Float64[np.ndarray, "r"]:
        """A x on the rows that are left."""
        return self.scale * self.whole.apply(x)[self.kept]

    def adjoint(self, z: Float64[np.ndarray, "r"]) -> Float64[np.ndarray, "D"]:
        """Aᵀ z, where z is 0 on the other rows."""
        spread = np.zeros(len(self.kept))
        spread[self.kept] = self.scale * z
        return self.whole.adjoint(spread)


def projection(kind: Kind, rows: int, dim: int, seed: int) -> Gaussian | Cosine:
    """The projection of a kind, by its seed.

    Args:
        kind: "gaussian", "dct", or "auto": Gaussian up to 2^27 entries.
        rows: s̃, measurements.
        dim: D, entries of what is measured.
        seed: whoever has the same one has the same projection.

    >>> projection("auto", 10, 20, seed=3)
    Gaussian(seed=3, rows=10, dim=20)
    >>> type(projection("auto", 129_449, 258_898, seed=3)).__name__
    'Cosine'
    """
    small = rows * dim <= _ENTRIES
    make = Gaussian if kind == "gaussian" or (kind == "auto" and small) else Cosine
    return make(seed, rows, dim)


@lru_cache(maxsize=1)  # a run has one
def _columns(seed: int, rows: int, dim: int) -> Float64[np.ndarray, "D s"]:
    """Aᵀ, so that products with A and with Aᵀ both go along memory."""
    columns = Streams(seed).rng("measure").standard_normal((dim, rows))
    columns /= np.sqrt(rows)
    columns.setflags(write=False)
    return columns


@lru_cache(maxsize=4)
def _signs_and_rows(
    seed: int, rows: int, dim: int, length: int
) -> tuple[Float64[np.ndarray, "D"], Int64[np.ndarray, "s"]]:
    rng = Streams(seed).rng("measure")
    sign = 2.0 * rng.integers(0, 2, dim) - 1.0
    return sign, rng.permutation(length)[:rows]

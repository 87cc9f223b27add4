"""Several antennas at the base station: one unit vector per sub-channel that hears all devices."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Complex128, Float64

from airfeel.errors import BadInput

Receiver = Literal["centroid", "zf-sum", "uniform-forcing"]
_TURNS, _RIDGE = 10, 0.1  # of uniform-forcing: repetitions, and the share of the mean eigenvalue


@dataclass(frozen=True)
class Antennas:
    """R antennas, and how the base station adds them up for the air."""

    count: int = 1  # R
    receiver: Receiver = "uniform-forcing"

    def beams(
        self, known: Complex128[np.ndarray, "N M R"], mean2: Float64[np.ndarray, "N"]
    ) -> Complex128[np.ndarray, "M R"]:
        """f_m, unit vectors; 1 for a single antenna.

        Every device counts the same, ĥ_n/√Ω_n: one that is far off must not bend the beam. Who is
        not met on a sub-channel does not count there; where nobody is, any unit vector will do.

        Args:
            known: ĥ of all devices at every antenna.
            mean2: Ω of each device.
        """
        devices, subchannels, antennas = known.shape
        if antennas == 1:
            return np.ones((subchannels, 1), dtype=np.complex128)
        root = np.sqrt(mean2)[:, None, None]
        each = np.divide(known, root, out=np.zeros_like(known), where=root > 0.0)
        scaled = np.moveaxis(each, 0, -1)  # [M R N]
        if self.receiver == "centroid":
            return centroid(scaled)
        if self.receiver == "uniform-forcing":
            return uniform_forcing(scaled)
        self.check(devices)
        return zf_sum(scaled)

    def check(self, devices: int) -> None:
        """Refuse a receiver that cannot serve so many devices."""
        if self.receiver == "zf-sum" and 1 < self.count < devices:
            raise BadInput(
                f"radio.receiver = 'zf-sum': needs at least as many antennas as devices, "
                f"{self.count} are fewer than {devices}"
            )


def centroid(h: Complex128[np.ndarray, "M R N"]) -> Complex128[np.ndarray, "M R"]:
    """The principal eigenvector of Σ_n ĥ_n·ĥ_n^H/‖ĥ_n‖²: the middle of all directions.

    Zhu and Huang, arXiv:1803.11129.

    Args:
        h: ĥ, a column for each device.

    >>> abs(centroid(np.array([[[2.0, 3.0], [0.0, 0.0]]]) + 0j)).tolist()
    [[1.0, 0.0]]
    """
    length = np.linalg.norm(h, axis=1, keepdims=True)
    unit = np.divide(h, length, out=np.zeros_like(h), where=length > 0.0)
    _, vectors = np.linalg.eigh(unit @ _hermitian(unit))
    return np.asarray(vectors[..., -1])


def zf_sum(h: Complex128[np.ndarray, "M R N"]) -> Complex128[np.ndarray, "M R"]:
    """f ∝ H(H^H·H)⁻¹·1: every f^H·ĥ_n is the same. Needs R ≥ N.

    Args:
        h: ĥ, a column for each device.

    >>> abs(zf_sum(np.array([[[1.0, 0.0], [0.0, 1.0]]]) + 0j)).round(3).tolist()
    [[0.707, 0.707]]
    """
    f = np.linalg.pinv(_hermitian(h)).sum(axis=-1)
    length = np.linalg.norm(f, axis=1, keepdims=True)
    return np.divide(f, length, out=centroid(h), where=length > 0.0)


def uniform_forcing(h: Complex128[np.ndarray, "M R N"]) -> Complex128[np.ndarray, "M R"]:
    """f ← (HH^H + λI)⁻¹·H·e^{j·arg(H^H·f)} from the centroid; or that, if its least is more.

    Ten steps of regularised zero-forcing to devices of equal modulus, each with the phase that it
    has; λ is a tenth of the mean eigenvalue. What counts is min_n |f^H·ĥ_n| over all ĥ_n but 0.

    Args:
        h: ĥ, a column for each device.

    >>> h = np.array([[[1.0, 1.0], [1.0, -1.0]]]) + 0j
    >>> abs(_hermitian(h)[0] @ uniform_forcing(h)[0]).round(3).tolist()
    [1.0, 1.0]
    """
    first = centroid(h)
    gram = h @ _hermitian(h)
    size = np.trace(gram, axis1=1, axis2=2).real / h.shape[1]
    met = size > 0.0  # elsewhere it is the centroid
    ridge = gram + np.where(met, _RIDGE * size, 1.0)[:, None, None] * np.eye(h.shape[1])
    f = first[..., None]
    for _ in range(_TURNS):
        turned = np.exp(1j * np.angle(_hermitian(h) @ f))
        f = np.where(met[:, None, None], np.linalg.solve(ridge, h @ turned), f)
        f = f / np.linalg.norm(f, axis=1, keepdims=True)
    better = met & (_least(h, f[..., 0]) > _least(h, first))
    return np.where(better[:, None], f[..., 0], first)


def _least(
    h: Complex128[np.ndarray, "M R N"], f: Complex128[np.ndarray, "M R"]
) -> Float64[np.ndarray, "M"]:
    """min_n |f^H·ĥ_n| over those that are met; infinite where nobody is."""
    heard = np.abs(_hermitian(h) @ f[..., None])[..., 0]
    return np.asarray(np.where(h.any(axis=1), heard, np.inf).min(axis=1))


def _hermitian(h: Complex128[np.ndarray, "*n R N"]) -> Complex128[np.ndarray, "*n N R"]:
    return np.conj(np.swapaxes(h, -1, -2))


def heard_by(
    beam: Complex128[np.ndarray, "M R"], h: Complex128[np.ndarray, "N M R"]
) -> Complex128[np.ndarray, "N M"]:
    """f_m^H·h_{n,m}: one coefficient of all antennas; of a single one its own, to the bit.

    Args:
        beam: f, unit vectors.
        h: of each device at every antenna.

    >>> heard_by(np.array([[0.6, 0.8]]) + 0j, np.array([[[1.0, 1.0]]]) + 0j).real.round(3)
    array([[1.4]])
    """
    return h[..., 0] if h.shape[-1] == 1 else np.asarray((beam.conj() * h).sum(axis=-1))

"""Energy of symbols that are sent over the air, segment by segment."""

import math

import numpy as np
from jaxtyping import Float, Float64, Int64
from torch import Tensor

from airfeel.radio import native
from airfeel.segments import segment_sizes


def segment_energy(
    symbols: Float[Tensor, "*n S"], subchannels: int, lanes: int = 1
) -> Float64[np.ndarray, "*n {subchannels}"]:
    """e_{n,m} = ‖segment m of device n's symbols‖², in float64; a row for each device.

    Its sums have an order that no number of threads changes.

    Args:
        symbols: what a device puts on the air, S values: one per sub-channel and slot.
        subchannels: M; how values are laid on them is `segments.segment_sizes`.
        lanes: values on one element.

    >>> import torch
    >>> segment_energy(torch.tensor([1.0, 2.0, 3.0]), 2)
    array([5., 9.])
    """
    values = symbols.cpu().numpy()
    served = lanes == 1 and values.dtype in (np.float32, np.float64)
    if native.KERNEL.missing is None and served:
        rows = values.reshape(math.prod(values.shape[:-1]), values.shape[-1])
        energy = native.segment_energy(rows, subchannels)
        return energy.reshape(*values.shape[:-1], subchannels)
    sizes = segment_sizes(values.shape[-1], subchannels, lanes)
    squares = np.square(values, dtype=np.float64)
    energy = np.zeros((*values.shape[:-1], subchannels))
    used = np.count_nonzero(sizes)  # with fewer values than sub-channels the last ones stay silent
    if used:
        first = (np.cumsum(sizes) - sizes)[:used]
        energy[..., :used] = np.add.reduceat(squares, first, axis=-1)
    return energy


def feedback_share(
    delta: Float[Tensor, "n D"], x: Float[Tensor, "n D"], support: Int64[Tensor, "K"]
) -> Float64[np.ndarray, "n"]:
    """‖e‖²/‖x‖² of each device, both on the mask, e = x − Δ: what error feedback adds to energy.

    NaN where x is 0 there. By the triangle inequality a share may be above 1: where the update
    takes back what the residual holds.

    Args:
        delta: Δ, updates.
        x: error-compensated updates.
        support: the global mask.

    >>> import torch
    >>> x, delta = torch.tensor([[3.0, 4.0, 9.0]]), torch.tensor([[0.0, 4.0, 0.0]])
    >>> feedback_share(delta, x, torch.tensor([0, 1]))
    array([0.36])
    """
    on_mask = x.index_select(1, support)
    residual = on_mask - delta.index_select(1, support)
    with np.errstate(all="ignore"):  # an update that is not finite is never sent
        energy, whole = (segment_energy(v, 1)[:, 0] for v in (residual, on_mask))
        return np.divide(energy, whole, out=np.full(len(x), np.nan), where=whole > 0.0)


def needed_energy(
    energy: Float64[np.ndarray, "n M"], gain2: Float64[np.ndarray, "n M"], scalar: float
) -> Float64[np.ndarray, "n"]:
    """P[g]_n = Σ_m ‖σ_t · segment_m / h_{n,m}‖² [W·slots]: what inversion costs (section III).

    A zero segment over a zero gain costs nothing, a non-zero one costs infinitely much.

    Args:
        energy: squared norm of each segment, see `segment_energy`.
        gain2: |h|² of each device on each sub-channel.
        scalar: σ_t.

    >>> needed_energy(np.array([[1.0, 2.0]]), np.array([[1.0, 0.5]]), 2.0)
    array([20.])
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        cost = np.where(energy == 0.0, 0.0, scalar**2 * energy / gain2)
    return cost.sum(axis=1)


def spent_energy(
    energy: Float64[np.ndarray, "n M"], amplitude: Float64[np.ndarray, "n M"]
) -> Float64[np.ndarray, "n"]:
    """Σ_m b²_{n,m}·e_{n,m} [W·slots]: the same for any amplitude.

    Args:
        energy: e, squared norm of each segment, see `segment_energy`.
        amplitude: b of each device on each sub-channel [√W per unit of a symbol]; 0 is silence.

    >>> spent_energy(np.array([[1.0, 2.0]]), np.array([[3.0, 0.0]]))
    array([9.])
    """
    return np.asarray((np.square(amplitude) * energy).sum(axis=1))

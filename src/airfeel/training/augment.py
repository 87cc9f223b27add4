"""Augmentation of training images: random crops, flips and cutouts, or a user's own components.

Uniform random numbers are handed in. This module alone turns them into integers (shifts, flips and
boxes), which all backends apply: PyTorch by a gather, the C++ kernel while it fetches a sample.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Annotated, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Bool, Float64, Int32
from torch import Tensor

from airfeel.handed import guarded
from airfeel.ranges import Count, Share, Whole, about
from airfeel.types import BadInput

FIELDS = 7  # of a sample's row: dy, dx, flip, and the box: top, left, bottom, right
Shape = tuple[int, int, int]


@runtime_checkable
class Augmentation(Protocol):
    """One random transform of training images, as they are stored.

    width: uniforms in [0, 1) that one sample needs. images: [… C H W]; uniforms: [… width], on the
    same compute device. Returns images of the same shape.
    """

    @property
    def width(self) -> int: ...
    def __call__(self, images: Tensor, uniforms: Tensor) -> Tensor: ...


@dataclass
class Moves:
    """Where each pixel of an augmented image comes from, for samples of any shape […].

    out(y, x) = in(y + dy, x' + dx) with x' = width − 1 − x where `flip`, else x. Black (0 as it is
    stored) comes from outside of the image, and in rows top ≤ y < bottom, columns left ≤ x < right.
    """

    height: int
    width: int
    dy: Int32[np.ndarray, "..."]
    dx: Int32[np.ndarray, "..."]
    flip: Bool[np.ndarray, "..."]
    box: Int32[np.ndarray, "... 4"]  # top, left, bottom, right

    def table(self) -> Int32[np.ndarray, "... 7"]:
        """One row of integers for each sample, as the backends read it."""
        rows = np.stack([self.dy, self.dx, self.flip.astype(np.int32)], axis=-1)
        return np.concatenate([rows, self.box], axis=-1, dtype=np.int32)


@runtime_checkable
class Geometric(Augmentation, Protocol):
    """An augmentation that only moves or blackens pixels: all backends have it."""

    def move(self, moves: Moves, uniforms: Float64[np.ndarray, "... W"]) -> None: ...


@dataclass(frozen=True)
class Crop:
    """Pad with black on all sides, and cut out an image of the former size, placed at random."""

    padding: Annotated[Whole, about("black pixels added on each side")] = 4
    width = 2

    def move(self, moves: Moves, uniforms: Float64[np.ndarray, "... 2"]) -> None:
        """Shift by whole pixels, uniform in −padding … padding, down and right."""
        down, right = np.moveaxis((uniforms * (2 * self.padding + 1)).astype(np.int64), -1, 0)
        # farther than the image is large all is black, as it is there
        down = np.clip(down - self.padding, -moves.height, moves.height).astype(np.int32)
        right = np.clip(right - self.padding, -moves.width, moves.width).astype(np.int32)
        moves.dy += down
        moves.dx += np.where(moves.flip, -right, right)
        moves.box -= np.stack([down, right, down, right], axis=-1)
        size = np.array([moves.height, moves.width] * 2)
        np.clip(moves.box, 0, size, out=moves.box)

    def __call__(self, images: Tensor, uniforms: Tensor) -> Tensor:
        """The same on images."""
        return Augment((self,))(images, uniforms.cpu().numpy())


@dataclass(frozen=True)
class Flip:
    """Mirror an image horizontally, with probability p."""

    p: Annotated[Share, about("probability of a flip")] = 0.5
    width = 1

    def move(self, moves: Moves, uniforms: Float64[np.ndarray, "... 1"]) -> None:
        """Flip where the uniform number is below p."""
        flip = uniforms[..., 0] < self.p
        moves.flip ^= flip
        mirrored = moves.box[..., [0, 3, 2, 1]]
        mirrored[..., [1, 3]] = moves.width - mirrored[..., [1, 3]]
        moves.box = np.where(flip[..., None], mirrored, moves.box)

    def __call__(self, images: Tensor, uniforms: Tensor) -> Tensor:
        """The same on images."""
        return Augment((self,))(images, uniforms.cpu().numpy())


@dataclass(frozen=True)
class Cutout:
    """Blacken a square whose centre is uniform in the image (DeVries and Taylor 2017)."""

    size: Annotated[Count, about("side of the square, in pixels")] = 16
    width = 2

    def move(self, moves: Moves, uniforms: Float64[np.ndarray, "... 2"]) -> None:
        """Place the square; what reaches beyond the image is cut off."""
        size = np.array([moves.height, moves.width])
        first = (uniforms * size).astype(np.int64) - self.size // 2
        box = np.concatenate([first, first + self.size], axis=-1)
        moves.box = np.clip(box, 0, np.tile(size, 2)).astype(np.int32)

    def __call__(self, images: Tensor, uniforms: Tensor) -> Tensor:
        """The same on images."""
        return Augment((self,))(images, uniforms.cpu().numpy())


@dataclass(frozen=True)
class Augment:
    """Augmentations in the order in which they are applied; none changes nothing.

    >>> one = np.full((1, 3), 0.999)  # the last shift, no flip
    >>> Augment((Crop(1), Flip())).moves(one, (1, 4, 4)).tolist()
    [[1, 1, 0, 0, 0, 0, 0]]
    """

    parts: tuple[Augmentation, ...] = ()

    def __post_init__(self) -> None:
        for kind in (Crop, Cutout):  # two shifts or boxes are no single one
            if sum(isinstance(part, kind) for part in self.parts) > 1:
                raise BadInput(
                    f"data.augment: has {kind.__name__.lower()} twice, must have it at most once"
                )

    @property
    def width(self) -> int:
        """Uniforms that one sample needs; 0 without augmentation."""
        return sum(part.width for part in self.parts)

    @property
    def own(self) -> str | None:
        """A component that is more than shifts, flips and boxes, which the kernel does not know."""
        own = (type(part).__name__ for part in self.parts if not _geometric(part))
        return next(own, None)

    def moves(
        self, uniforms: Float64[np.ndarray, "... W"], shape: Shape
    ) -> Int32[np.ndarray, "... 7"]:
        """The integers for samples of `shape`, where all components are geometric."""
        return _table(self._shares(uniforms), uniforms.shape[:-1], shape)

    def __call__(self, images: Tensor, uniforms: Float64[np.ndarray, "... W"]) -> Tensor:
        """Augmented images [… C H W], on the device and in the type of `images`."""
        for geometric, pairs in groupby(self._shares(uniforms), lambda p: _geometric(p[0])):
            if geometric:
                images = moved(images, _table(pairs, uniforms.shape[:-1], images.shape[-3:]))
                continue
            for part, own in pairs:
                images = _checked(part, images, own)
        return images

    def _shares(
        self, uniforms: Float64[np.ndarray, "... W"]
    ) -> Iterator[tuple[Augmentation, Float64[np.ndarray, "... _"]]]:
        """Each component with its own uniforms."""
        at = 0
        for part in self.parts:
            yield part, uniforms[..., at : at + part.width]
            at += part.width


def moved(images: Tensor, table: Int32[np.ndarray, "... 7"]) -> Tensor:
    """Images [… C H W] whose pixels come from where the integers say (see `Moves`).

    >>> row = torch.arange(1, 4).view(1, 1, 1, 3)
    >>> moved(row, np.array([[0, 1, 0, 0, 0, 0, 0]], np.int32)).tolist()
    [[[[2, 3, 0]]]]
    """
    height, width = images.shape[-2:]
    flat = images.reshape(-1, *images.shape[-3:])
    fields = torch.from_numpy(table.reshape(-1, FIELDS).astype(np.int64)).to(images.device)
    dy, dx, flip, top, left, bottom, right = fields.unbind(dim=1)
    y = torch.arange(height, device=images.device).expand(len(flat), height)
    x = torch.arange(width, device=images.device).expand(len(flat), width)
    from_y = y + dy[:, None]
    from_x = torch.where(flip[:, None] == 1, width - 1 - x, x) + dx[:, None]
    rows = (from_y >= 0) & (from_y < height)
    columns = (from_x >= 0) & (from_x < width)
    seen = rows[:, :, None] & columns[:, None, :]
    boxed = (y >= top[:, None]) & (y < bottom[:, None]), (x >= left[:, None]) & (x < right[:, None])
    seen &= ~(boxed[0][:, :, None] & boxed[1][:, None, :])
    place = from_y.clamp(0, height - 1)[:, :, None] * width + from_x.clamp(0, width - 1)[:, None, :]
    place = place.flatten(1)[:, None].expand(-1, flat.shape[1], -1)
    out = flat.flatten(2).gather(2, place).view(flat.shape)
    return torch.where(seen[:, None], out, torch.zeros_like(out)).view(images.shape)


def _geometric(part: Augmentation) -> bool:
    return isinstance(part, Geometric)


def _table(
    shares: Iterable[tuple[Augmentation, Float64[np.ndarray, "... _"]]],
    lead: tuple[int, ...],
    shape: Sequence[int],
) -> Int32[np.ndarray, "... 7"]:
    """The integers of geometric components together, for samples of any number."""
    dy, dx, box = (np.zeros((*lead, *more), np.int32) for more in ((), (), (4,)))
    moves = Moves(shape[1], shape[2], dy, dx, np.zeros(lead, bool), box)
    for part, own in shares:
        if isinstance(part, Geometric):
            part.move(moves, own)
    return moves.table()


def _checked(part: Augmentation, images: Tensor, uniforms: Float64[np.ndarray, "... W"]) -> Tensor:
    """The images that a user's component makes, if they have the shape of those it was given."""
    with guarded("data.augment", part):
        out = part(images, torch.from_numpy(np.ascontiguousarray(uniforms)).to(images.device))
    if not isinstance(out, Tensor) or out.shape != images.shape:
        made = tuple(out.shape) if isinstance(out, Tensor) else type(out).__name__
        wanted = f"{tuple(images.shape)}, made {made}"
        raise BadInput(f"data.augment: {type(part).__name__} must return images of shape {wanted}")
    return out

"""Where data sets come from: file layouts, official addresses and checksums."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Item:
    """One file of a set, stored as `name` or gzipped as `name`.gz."""

    name: str
    size: int  # bytes, decompressed
    md5: str  # of the decompressed content: gzip headers differ between mirrors


@dataclass(frozen=True)
class Layout:
    """One way a set lies on disk: a folder, or the tar archive that holds it."""

    folder: str
    items: tuple[Item, ...]
    archive: str = ""


@dataclass(frozen=True)
class Download:
    """A file of the official site; `md5` is of the file itself, where the site states it."""

    url: str
    md5: str = ""

    @property
    def file(self) -> str:
        """Its name on disk."""
        return self.url.rsplit("/", 1)[-1]


@dataclass(frozen=True)
class Source:
    """A data set: its samples (training and test), what to download, and how it may lie on disk."""

    samples: int
    downloads: tuple[Download, ...]
    layouts: tuple[Layout, ...]  # the first is what the downloads hold


_CIFAR_BINARY = Layout(
    "cifar-10-batches-bin",
    (
        Item("data_batch_1.bin", 30_730_000, "5dd7e06a14cb22eb9f671a540d1b7c25"),
        Item("data_batch_2.bin", 30_730_000, "5ea93a67294ea407fff1d09f752e9692"),
        Item("data_batch_3.bin", 30_730_000, "942cd6a4bcdd0dd3c604fbe906cb4421"),
        Item("data_batch_4.bin", 30_730_000, "ae636b3ba5c66a11e91e8cb52e771fcb"),
        Item("data_batch_5.bin", 30_730_000, "53f37980c15c3d472c316c40844f3f0d"),
        Item("test_batch.bin", 30_730_000, "803d5f7f4d78ea53de84dbe85f74fb6d"),
    ),
    "cifar-10-binary.tar.gz",
)

_CIFAR_PICKLES = Layout(
    "cifar-10-batches-py",
    (
        Item("data_batch_1", 31_035_704, "c99cafc152244af753f735de768cd75f"),
        Item("data_batch_2", 31_035_320, "d4bba439e000b95fd0a9bffe97cbabec"),
        Item("data_batch_3", 31_035_999, "54ebc095f3ab1f0389bbae665268c751"),
        Item("data_batch_4", 31_035_696, "634d18415352ddfa80567beed471001a"),
        Item("data_batch_5", 31_035_623, "482c414d41f54cd18b22e5b47cb7c3cb"),
        Item("test_batch", 31_035_526, "40351d587109b95175f43aff81a1287e"),
    ),
    "cifar-10-python.tar.gz",
)

_FASHION = Layout(
    "fashion-mnist",
    (
        Item("train-images-idx3-ubyte", 47_040_016, "f4a8712d7a061bf5bd6d2ca38dc4d50a"),
        Item("train-labels-idx1-ubyte", 60_008, "9018921c3c673c538a1fc5bad174d6f9"),
        Item("t10k-images-idx3-ubyte", 7_840_016, "8181f5470baa50b63fa0f6fddb340f0a"),
        Item("t10k-labels-idx1-ubyte", 10_008, "15d484375f8d13e6eb1aabb0c3f46965"),
    ),
)

_MNIST = Layout(
    "mnist",
    (
        Item("train-images-idx3-ubyte", 47_040_016, "6bbc9ace898e44ae57da46a324031adb"),
        Item("train-labels-idx1-ubyte", 60_008, "a25bea736e30d166cdddb491f175f624"),
        Item("t10k-images-idx3-ubyte", 7_840_016, "2646ac647ad5339dbf082846283269ea"),
        Item("t10k-labels-idx1-ubyte", 10_008, "27ae3e4e09519cfbb04c329615203637"),
    ),
)

_OSSCI = "https://ossci-datasets.s3.amazonaws.com/mnist/"  # the authors' own site refuses programs
_TORONTO = "https://www.cs.toronto.edu/~kriz/"
_ZALANDO = "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"

SOURCES: dict[str, Source] = {
    "cifar10": Source(
        samples=60_000,
        downloads=(
            Download(_TORONTO + "cifar-10-binary.tar.gz", "c32a1d4ab5d03f1284b67883e8d87530"),
        ),
        layouts=(_CIFAR_BINARY, _CIFAR_PICKLES),
    ),
    "fashion-mnist": Source(
        samples=70_000,
        downloads=tuple(Download(f"{_ZALANDO}{item.name}.gz") for item in _FASHION.items),
        layouts=(_FASHION,),
    ),
    "mnist": Source(
        samples=70_000,
        downloads=tuple(Download(f"{_OSSCI}{item.name}.gz") for item in _MNIST.items),
        layouts=(_MNIST,),
    ),
}
"""The sets kept in files, by name."""

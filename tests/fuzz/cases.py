"""Cases to try: every kind makes one from dice, as a value that JSON can hold.

Bytes are written as text in Latin-1. Sizes stay tiny or beyond what any machine has: what lies
between is slow, not wrong.
"""

import gzip
import io
import random
import tarfile
import zipfile
from collections.abc import Callable

import numpy as np
import tomli_w

from airfeel.catalogues import CATALOGUES
from airfeel.settings.config import SECTIONS

Dice = random.Random
TINY = {
    "data": {"dataset": "synthetic", "shape": [1, 2, 2], "classes": 2, "samples": 30},
    "model": {"name": "logistic"},
    "training": {"devices": 3, "local_steps": 1, "batch_size": 2, "rounds": 1},
    "scheme": {"global_sparsity": 0.5, "local_sparsity": 0.2},
    "radio": {"subchannels": 4},
    "run": {"threads": 1},
}
SETTINGS = [(section, key) for section, model in SECTIONS.items() for key in model.model_fields]
_NOT_HERE = {"ray", "file", "cifar10", "fashion-mnist", "mnist"}
NAMES = sorted({name for catalogue in CATALOGUES for name in catalogue} - _NOT_HERE)
WORDS = [
    *("", " ", ".", "..", "/", "\0", "\n", "a\nb", "=", "é", "\udcff", "~nobody", "None", "nan"),
    *("a:b", ":", "a:", ":b", ".:b", "a..b:c", "math:pi", "math:sqrt", "builtins:dict", "a:b:c"),
    *("builtins:int", "builtins:object", "json:nothing", "a." * 2000 + ":b", "x" * 300, "x" * 5000),
    *(
        "cpu",
        "meta",
        "cuda:99",
        "float64",
        "thrifty",
        "trace",
        "file:",
        "file:x",
        "file:" + "x" * 300,
    ),
]
NUMBERS = [
    *(-1, 0, 1, 2, 3, 5, 7, 2**63, 10**23, -(10**23), 10**400, True, False),
    *(-1.0, -0.0, 0.0, 0.5, 1.0, 2.5, 5e-324, 1e-320, 1e-300, 1e-160, 1e160, 1e300, 1.7e308),
    *(float("nan"), float("inf"), float("-inf")),
]


def value(dice: Dice, depth: int = 0) -> object:
    """Anything that a settings file can hold."""
    kind = dice.random()
    if kind < 0.45 or depth > 3:
        return dice.choice(NUMBERS)
    if kind < 0.6:
        return dice.choice(WORDS)
    if kind < 0.75:
        return dice.choice(NAMES)
    if kind < 0.85:
        return [value(dice, depth + 1) for _ in range(dice.randrange(4))]
    return table(dice, depth)


def table(dice: Dice, depth: int = 0) -> object:
    """A table that may name a part; sometimes one that is nested far too deeply."""
    if dice.random() < 0.05:
        inner: object = 1
        for _ in range(dice.choice([60, 400, 700])):
            inner = {"a": inner} if dice.random() < 0.5 else [inner]
        return inner
    keys = ["name", "factor", "rate", "every", "file", "path", "x", "", "a.b", *WORDS[-4:]]
    return {dice.choice(keys): value(dice, depth + 1) for _ in range(dice.randrange(4))}


def fitting(dice: Dice, section: str, key: str) -> object:
    """A value that the setting may well take."""
    field = SECTIONS[section].model_fields[key]
    names = [mark.catalogue for mark in field.metadata if hasattr(mark, "catalogue")]
    if names and dice.random() < 0.6:
        name = dice.choice(list(names[0]))
        return {"name": name} if dice.random() < 0.3 else name
    return dice.choice([field.default, 1, 2, 0.5, 1.5, True, [1.0, 2.0, 3.0]])


def config(dice: Dice) -> dict:
    """Settings: a few of them changed, at times a whole section."""
    out: dict = {section: dict(inner) for section, inner in TINY.items()}
    for _ in range(dice.randint(1, 3)):
        section, key = dice.choice(SETTINGS)
        if dice.random() < 0.05:
            section, key = dice.choice(WORDS), dice.choice(WORDS)
        if dice.random() < 0.03:
            out[section] = value(dice)
        elif isinstance(out.setdefault(section, {}), dict):
            fits = (section, key) in SETTINGS and dice.random() < 0.5
            out[section][key] = fitting(dice, section, key) if fits else value(dice)
    return out


def text(dice: Dice, whole: str) -> str:
    """A text with some of it cut out, doubled, swapped or put in."""
    for _ in range(dice.randint(1, 4)):
        a, b = sorted(dice.randrange(len(whole) + 1) for _ in range(2))
        b = min(b, a + dice.choice([0, 1, 4, 40]))
        new = dice.choice(["", whole[a:b] * 2, *"[]{}='\"\n,.-\0", *map(str, NUMBERS[:-4]), *WORDS])
        whole = whole[:a] + new + whole[b:]
    return whole


def settings_file(dice: Dice) -> str:
    return text(dice, tomli_w.dumps(TINY))


def override(dice: Dice) -> str:
    """What may stand behind --set."""
    section, key = dice.choice(SETTINGS)
    try:
        words = tomli_w.dumps({"v": [value(dice)]}).partition("= [")[2].strip().strip("],")
    except (TypeError, ValueError, RecursionError):
        words = "[" * 3000
    deeper = dice.choice(["", "", "", ".name", ".rate", ".a.b.c", "."])
    whole = f"{section}.{key}{deeper}={words}"
    return text(dice, whole) if dice.random() < 0.2 else whole


def sweep(dice: Dice) -> str:
    """A sweep file: wrong types, wrong keys, or damaged text."""
    whole: dict = {"base": "tiny.toml", "seeds": [0, 1], "grid": {"scheme.bits": [4, 8]}}
    for _ in range(dice.randint(1, 3)):
        section, key = dice.choice(SETTINGS)
        place = dice.choice(["base", "seeds", "grid", "list", "point", "axis", "axis", "other"])
        given = value(dice)
        if place == "axis" and isinstance(whole.get("grid"), dict):
            whole["grid"][f"{section}.{key}"] = given if dice.random() < 0.5 else [given, 1]
        elif place == "point":
            whole["list"] = [{section: {key: given}}, {f"{section}.{key}": given}]
        else:
            whole[dice.choice(WORDS) if place == "other" else place] = given
    try:
        written = tomli_w.dumps(whole)
    except (TypeError, ValueError, RecursionError):
        written = "grid = " + "[" * 3000
    return text(dice, written) if dice.random() < 0.3 else written


def _bytes(dice: Dice, whole: bytes) -> str:
    """Bytes with some flipped, cut off, put in or doubled, as Latin-1."""
    data = bytearray(whole)
    for _ in range(dice.choice([0, 1, 1, 2, 8])):
        at = dice.randrange(len(data) + 1)
        kind = dice.randrange(4)
        if kind == 0 and at < len(data):
            data[at] ^= 1 << dice.randrange(8)
        elif kind == 1:
            del data[at:]
        elif kind == 2:
            data[at:at] = dice.randbytes(dice.choice([1, 4, 300]))
        else:
            data[at : at + dice.choice([1, 8, 64])] = b""
    return data.decode("latin-1")


def trace(dice: Dice) -> str:
    """An .npy file of gains, with a header that may lie."""
    if dice.random() < 0.3:
        stream = io.BytesIO()
        np.save(stream, np.ones((3, 4)))
        return _bytes(dice, stream.getvalue())
    types = ["'<f8'", "'<f8'", "'<c16'", "'|O'", "'<U4'", "'<M8[s]'", "'|b1'", "[('a', '<f8')]"]
    types += ["('<f8', (2,))", "'<f8\\0'", "(" * 200 + ")" * 200, "'<f2'", "'>i8'", "''", "3"]
    descr = dice.choice(types)
    sizes = [3, 4, 0, -1, 10**10, 10**20, 10**40, True, "'a'", "None", "9" * 5000]
    shape = ", ".join(str(dice.choice(sizes)) for _ in range(dice.randint(0, 3)))
    header = f"{{'descr': {descr}, 'fortran_order': False, 'shape': ({shape}, ), }}"
    if dice.random() < 0.3:
        header = text(dice, header)
    line = header.encode("latin-1", "replace") + b"\n"
    version = dice.choice([1, 1, 1, 2, 3, 9])
    length = (len(line) & 0xFFFF).to_bytes(2 if version == 1 else 4, "little")
    return _bytes(dice, b"\x93NUMPY" + bytes([version, 0]) + length + line + bytes(96))


def npz(dice: Dice) -> str:
    """An .npz file of samples, or a zip file that only looks like one."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", dice.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])) as z:
        for name in ("x.npy", "y.npy"):
            inner = io.BytesIO()
            np.save(inner, np.arange(20) % 2 if name[0] == "y" else np.ones((20, 2)))
            content = inner.getvalue() if dice.random() < 0.6 else trace(dice).encode("latin-1")
            z.writestr(dice.choice([name, name, name, "../" + name, "/etc/" + name]), content)
    return _bytes(dice, stream.getvalue())


def archive(dice: Dice) -> dict:
    """A tar archive, packed or not, with members that it should not have."""
    stream = io.BytesIO()
    form = dice.choice([tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT])
    with tarfile.open(fileobj=stream, mode="w", format=form) as tar:
        for name in ("one.bin", "two.bin", "../../escaped", "/tmp/escaped", "a/" * 40 + "one.bin"):
            if dice.random() < 0.3:
                continue
            member = tarfile.TarInfo(name)
            member.type = dice.choice([tarfile.REGTYPE] * 4 + [tarfile.SYMTYPE, tarfile.LNKTYPE])
            member.linkname = "../../outside" if member.type != tarfile.REGTYPE else ""
            member.size = 8 if member.type == tarfile.REGTYPE else 0
            tar.addfile(member, io.BytesIO(bytes(8)))
    whole = stream.getvalue()
    if dice.random() < 0.5:
        whole = gzip.compress(_bytes(dice, whole).encode("latin-1"), mtime=0)
    return {"name": dice.choice(["tiny.tar", "one.bin", "one.bin.gz"]), "data": _bytes(dice, whole)}


def images(dice: Dice) -> dict:
    """What decoders of image sets are given."""
    idx = b"\0\0\x08\x03" + (2).to_bytes(4, "big") * 3 + bytes(8)
    pickled = b"\x80\x02}q\x01(U\x04dataq\x02K\x01U\x06labelsq\x03]q\x04u."
    form, whole = dice.choice(
        [("idx", idx), ("cifar_binary", bytes(3073)), ("cifar_pickle", pickled)]
    )
    return {"form": form, "data": _bytes(dice, whole)}


def arguments(dice: Dice) -> list[str]:
    """A command line; nothing that trains for long, opens a browser or asks the network."""
    path = ["", ".", "nowhere", "x" * 300, "\udcff", "tiny.toml", "/dev/null/x", "~nobody"]
    number = [str(n) for n in NUMBERS] + ["9" * 5000, "x", "", "0x1", "1_0"]
    seeds = ["0", "0..1", "0..3000000000", "1..0", "9" * 5000, "0,0", "x", "٣", "0..", ","]
    some = lambda values: dice.choice(values)
    sets = [a for _ in range(dice.randint(1, 2)) for a in ("--set", override(dice))]
    sets = [a.replace("\0", "") for a in sets]
    commands: list[list[str]] = [
        ["run", "tiny.toml", "--out", "run", *sets],
        ["run", "tiny.toml", "--out", "run", *sets],
        ["run", some(path), "--out", some(path), "--seed", some(number), *sets],
        ["config", "show", some(["tiny.toml", "digits-tcs-h", *path]), *sets],
        ["config", "show", "tiny.toml", *sets],
        ["compare", "nowhere.toml", "--seeds", some(seeds), "--schemes", some(WORDS[:9])],
        ["resume", some(path)],
        ["report", some(path), "--format", some(["html", "x", ""])],
        ["sweep", some(path), "--out", "sweep", "--workers", some(["-1", "x"])],
        ["data", "add", some(["cifar10", "x" * 5000]), some(path), "--data-dir", "data"],
        ["data", "list", "--data-dir", some(path)],
        ["reproduce", "study", some(["grid", "x" * 5000]), "--from", some(path)],
        ["reproduce", "export", some(path), "--to", "export"],
        ["allocate", "--devices", some(["1", "3", "0", "9" * 30]), "--gains", some(path)],
        [
            "theory",
            f"--{some(['noise', 'a', 'smoothness', 'rounds', 'dim', 'bits'])}",
            some(number),
        ],
        ["theory", f"--{some(['k-global', 'k-local', 'devices', 'convexity'])}", some(number)],
        [some(["list", "run", "nonsense", "--version", "--help", ""]), some(["", "-x", "--set"])],
    ]
    for option in ("noise", "power", "bits", "seed"):
        commands.append(["allocate", "--devices", "3", f"--{option}", some(number)])
    chosen = [a.replace("\0", "") for a in some(commands)]  # no command line holds a null byte
    if dice.random() < 0.1:
        chosen.insert(dice.randrange(len(chosen) + 1), some(["--", "-h", "--x=1", "x" * 300]))
    return chosen


KINDS: dict[str, Callable[[Dice], object]] = {
    "config": config,
    "settings file": settings_file,
    "override": override,
    "sweep": sweep,
    "trace": trace,
    "npz": npz,
    "archive": archive,
    "images": images,
    "arguments": arguments,
}

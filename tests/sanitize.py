"""A kernel in C++ built with sanitizers and driven by a program that lies beside its tests."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from airfeel import compiled

FLAGS = ("-std=c++17", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")


def printed(
    driver: Path,
    sources: Path,
    folder: Path,
    text: str = "",
    tuning: Sequence[str] | None = None,
    level: str = "-O1",
) -> str:
    """What the driver prints when it reads `text`; fails if a sanitizer objects.

    tuning: flags for the processor, those of this machine if None.
    """
    compiler = compiled.find_compiler()
    flags = [*FLAGS, level, *(compiled.tuning(compiler) if tuning is None else tuning)]
    program = folder / "driver"
    command = [compiler, *flags, f"-I{sources}", str(driver), "-o", str(program)]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    if "fsanitize" in made.stderr or "asan" in made.stderr:
        pytest.skip(f"no sanitizers: {made.stderr.splitlines()[0]}")
    assert made.returncode == 0, made.stderr
    done = subprocess.run([program], input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout

"""What pyproject.toml cannot say: links for PyPI's page, and kernels that a wheel brings along.

A wheel is for any machine, and its kernels are compiled on first use. With AIRFEEL_PREBUILT=1 it is
for Linux on x86-64, and brings a library for each level of it (src/airfeel/kernel_sources.py).
"""

import importlib.util
import os
import re
import subprocess
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent
PACKAGE = ROOT / "src" / "airfeel"
PREBUILT = os.environ.get("AIRFEEL_PREBUILT") == "1"
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?![a-z]+:|#)([^()\s]+)\)")


def kernel_sources():
    """The module of that name, without the package around it."""
    where = PACKAGE / "kernel_sources.py"
    spec = importlib.util.spec_from_file_location("kernel_sources", where)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def long_description():
    """README.md, its links into this repository made absolute: those of this version."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    home, tag = project["urls"]["Source"], f"v{project['version']}"

    def absolute(link):
        kind = "raw" if link[1] else "blob"
        return f"{link[1]}[{link[2]}]({home}/{kind}/{tag}/{link[3]})"

    return LINK.sub(absolute, (ROOT / "README.md").read_text("utf-8"))


class BuildKernels(build_py):
    """Compiles the kernels into the package that a wheel is made from."""

    def run(self):
        super().run()
        if not PREBUILT or self.editable_mode:
            return
        known, compiler = kernel_sources(), os.environ.get("CXX", "c++")

        def room(name):
            folder = PACKAGE / name / "native"
            source = str(folder / "kernel.cpp")
            known.make(
                folder,
                Path(self.build_lib) / "airfeel" / name / "native",
                (*known.FLAGS, *known.KERNELS[name]),
                lambda flags, to: subprocess.run(
                    [compiler, *flags, "-s", source, "-o", to], check=True
                ),
            )

        with ThreadPoolExecutor() as pool:
            list(pool.map(room, known.KERNELS))


class Package(Distribution):
    """With kernels it is not for any machine."""

    def has_ext_modules(self):
        return PREBUILT


class Wheel(bdist_wheel):
    """Names the oldest Linux that the kernels in the wheel can be loaded on."""

    def get_tag(self):
        if not PREBUILT:
            return super().get_tag()
        libraries = list(Path(self.bdist_dir).rglob("native/prebuilt/*.so"))
        found = [re.findall(rb"GLIBC_2\.(\d+)", path.read_bytes()) for path in libraries]
        newest = max(int(minor) for minors in found for minor in minors)
        return "py3", "none", f"manylinux_2_{newest}_x86_64"


setup(
    distclass=Package,
    long_description=long_description(),
    long_description_content_type="text/markdown",
    cmdclass={"build_py": BuildKernels, "bdist_wheel": Wheel},
)

"""Build the distributions, and use each wheel as a stranger would: installed, in another folder.

    python tests/package/distributions.py [FOLDER]     the distributions go to FOLDER, else to dist/

The wheel with kernels must run without a compiler, and give the same bytes where there is one; the
wheel for any machine must compile its kernels, once, and say so. Nothing is downloaded: what is
needed comes from this interpreter. Status 1: something is not so.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
SETTINGS = ("--set", "training.rounds=3", "--set", "run.record_every=1")
SAID = "compiling the kernels, once (some seconds)"
COMPILERS = ("c++", "g++", "clang++")


def build(to: Path, kernels: bool) -> None:
    """The sdist, and a wheel that is made from it alone."""
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(to), str(ROOT)]
    env = os.environ | {"AIRFEEL_PREBUILT": str(int(kernels))}
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{done.stdout}\n{done.stderr}")


def environment(folder: Path, wheel: Path) -> Path:
    """An empty environment with the wheel alone; its interpreter. Other packages are borrowed."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    python = folder / "bin" / "python"
    (home,) = folder.glob("lib/python*/site-packages")
    borrowed = [path for path in sys.path if path.endswith("site-packages")]
    (home / "borrowed.pth").write_text("\n".join(borrowed) + "\n", "utf-8")
    install = ["-m", "pip", "--python", python, "install", "--quiet", "--no-index", "--no-deps"]
    subprocess.run([sys.executable, *install, wheel], check=True)
    return python


def use(python: Path, place: Path, env: Mapping[str, str]) -> tuple[dict[str, str], bytes, str]:
    """Run it in an empty folder: what has computed it, the model, and what was said."""
    place.mkdir()
    command = [python.with_name("airfeel"), "run", "digits-tcs-h", "--out", "run", *SETTINGS]
    done = subprocess.run(command, cwd=place, env=env, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{place.name}: status {done.returncode}\n{done.stdout}\n{done.stderr}")
    facts = json.loads((place / "run" / "facts.json").read_text("utf-8"))
    return facts["arithmetic"][0], (place / "run" / "model.safetensors").read_bytes(), done.stderr


def surroundings(scratch: Path, name: str, compiler: bool) -> dict[str, str]:
    """The environment of a user, with a cache of its own; without a compiler, no program at all."""
    (empty := scratch / "no-programs").mkdir(exist_ok=True)
    kept = {key: os.environ[key] for key in ("LANG", "LD_LIBRARY_PATH") if key in os.environ}
    path = os.environ["PATH"] if compiler else str(empty)
    return kept | {"PATH": path, "HOME": str(scratch), "XDG_CACHE_HOME": str(scratch / name)}


def check(wheels: Path, scratch: Path) -> list[str]:
    """What is not as it should be, a line each."""
    faults = []

    def demand(holds: bool, what: str) -> None:
        if not holds:
            faults.append(what)

    (carrying,), (plain,) = wheels.glob("*-manylinux*.whl"), wheels.glob("*-any.whl")
    python = environment(scratch / "venv", carrying)
    models = []
    for compiler in (False, True):
        name = f"kernels, {'a' if compiler else 'no'} compiler"
        by, model, said = use(
            python, scratch / name, surroundings(scratch, f"cache{compiler}", compiler)
        )
        kernels = [str(by[room]) for room in ("learn", "compress", "radio")]
        demand(by["backend"] == "native", f"{name}: trained by {by['backend']}")
        demand(all(k.startswith("x86-64-v") for k in kernels), f"{name}: computed by {kernels}")
        demand(SAID not in said, f"{name}: something was compiled")
        demand(
            not (scratch / f"cache{compiler}" / "airfeel" / "native").exists(), f"{name}: a cache"
        )
        models.append(model)
        print(f"{name}: {', '.join(kernels)}")
    demand(models[0] == models[1], "a compiler on the path changes the model")
    if not any(map(shutil.which, COMPILERS)):
        return faults
    python = environment(scratch / "venv2", plain)
    by, _, said = use(python, scratch / "any machine", surroundings(scratch, "cache", True))
    demand(said.count(SAID) == 1, f"any machine: said {said!r}")
    demand(not str(by["learn"]).startswith("x86"), f"any machine: computed by {by['learn']}")
    print(f"any machine: {by['learn']}, {by['compress']}, {by['radio']}")
    return faults


def main() -> int:
    to = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "dist").absolute()
    shutil.rmtree(to, ignore_errors=True)
    for kernels in (False, True):
        build(to, kernels)
    built = sorted(map(str, to.iterdir()))
    subprocess.run([sys.executable, "-m", "twine", "check", "--strict", *built], check=True)
    with tempfile.TemporaryDirectory(prefix="airfeel-wheel-") as folder:
        faults = check(to, Path(folder))
    print(*faults, sep="\n", end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

"""Kernels that a wheel brings along: the best that this CPU can run, and none that is doubtful."""

import ctypes
import platform
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from airfeel import compiled, kernel_cache, kernel_sources, prebuilt
from airfeel.compiled import AS_WRITTEN, FLAGS, Kernel
from airfeel.compression.native import KERNEL as COMPRESS
from airfeel.errors import BadInput
from airfeel.kernel_sources import LEVELS
from airfeel.radio.native import KERNEL as RADIO
from airfeel.storage import provenance
from airfeel.training.native import KERNEL as LEARN

SOURCE = 'extern "C" __attribute__((visibility("default"))) int airfeel_answer() {{ return {}; }}'
ANSWER = {"answer": (ctypes.c_int, ())}
FLAGS_HERE = (*FLAGS, *AS_WRITTEN)
HERE = prebuilt.levels()
LOADER = Path("/lib64/ld-linux-x86-64.so.2")


def cpuinfo(*levels, but=()):
    """What Linux says of two cores that have these levels, the second one without something."""
    flags = set().union(*(LEVELS[level] for level in levels)) if levels else {"fpu"}
    return "".join(
        f"processor : {i}\nflags\t\t: {' '.join(sorted(had))} vmx\n\n"
        for i, had in enumerate((flags, flags - set(but)))
    )


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A kernel that says which level it was built for: 2, 3 or 4; compiled here, it says 1."""
    if platform.machine() != "x86_64" or not HERE:
        pytest.skip("not an x86-64 that says what it can do")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(prebuilt.CHOICE, raising=False)
    kernel_cache.warn.cache_clear()
    folder = tmp_path / "kernel"
    folder.mkdir()
    (folder / "kernel.cpp").write_text(SOURCE.format(1))
    try:
        compiler = compiled.find_compiler()
    except compiled.BuildError as error:
        pytest.skip(str(error))

    def compile(flags, to):
        other = tmp_path / f"{to.stem}.cpp"
        other.write_text(SOURCE.format(to.stem[-1]))
        subprocess.run([compiler, "-shared", "-fPIC", "-O0", other, "-o", to], check=True)
        assert f"-march={to.stem}" in flags

    kernel_sources.make(folder, folder, FLAGS_HERE, compile)
    return folder


def kernel(folder):
    return Kernel(folder, AS_WRITTEN, ANSWER)


def here(monkeypatch, *levels):
    monkeypatch.setattr(prebuilt, "levels", lambda: levels)


@pytest.mark.parametrize("top", range(len(LEVELS) + 1))
def test_a_cpu_has_a_level_if_it_has_all_of_it_and_of_those_below(top):
    names = tuple(LEVELS)
    assert prebuilt.levels_in(cpuinfo(*names[:top])) == names[:top]
    for missing in (flag for level in names[:top] for flag in LEVELS[level]):
        left = prebuilt.levels_in(cpuinfo(*names[:top], but=[missing]))
        (level,) = [name for name in names if missing in LEVELS[name]]
        assert left == names[: names.index(level)], missing


@pytest.mark.parametrize("text", ["", "Features : fp asimd\n", "flags :\n"])
def test_other_cpus_have_none(text):
    assert prebuilt.levels_in(text) == ()


@pytest.mark.skipif(not LOADER.exists(), reason="needs glibc's loader on x86-64")
def test_the_levels_here_are_those_that_the_system_loader_finds():
    said = subprocess.run([LOADER, "--help"], capture_output=True, text=True).stdout
    found = re.findall(r"^ *(x86-64-v\d) \(supported", said, re.MULTILINE)
    if "x86-64-v" not in said:
        pytest.skip("an older loader, which knows no levels")
    assert set(found) == set(HERE)


def test_the_best_level_is_loaded_and_nothing_is_compiled(folder, monkeypatch):
    monkeypatch.setenv("PATH", str(folder))
    ready = kernel(folder)
    assert ready["answer"]() == int(HERE[-1][-1])
    assert re.fullmatch(HERE[-1] + "-[0-9a-f]{12}", ready.digest)
    assert not compiled.cache_directory().exists()


def test_each_level_has_a_digest_of_its_own(folder, monkeypatch):
    digests = set()
    for level in HERE:
        monkeypatch.setenv(prebuilt.CHOICE, level)
        chosen = kernel(folder)
        assert chosen["answer"]() == int(level[-1])
        digests.add(chosen.digest)
    monkeypatch.setenv(prebuilt.CHOICE, "compiled")
    chosen = kernel(folder)
    assert chosen["answer"]() == 1
    assert len(digests | {chosen.digest}) == len(HERE) + 1


@pytest.mark.parametrize("wanted", ["x86-64-v4", "x86-64-v9", "native"])
def test_a_level_that_cannot_be_had_is_refused_in_one_line(folder, monkeypatch, wanted):
    here(monkeypatch, "x86-64-v2")
    monkeypatch.setenv(prebuilt.CHOICE, wanted)
    with pytest.raises(BadInput) as error:
        _ = kernel(folder).missing
    assert str(error.value) == (
        f"$AIRFEEL_KERNELS = '{wanted}': must be one of x86-64-v2, compiled here, or unset"
    )


def test_where_no_level_fits_kernels_are_compiled(folder, monkeypatch):
    here(monkeypatch)
    assert kernel(folder)["answer"]() == 1


@pytest.mark.parametrize("damage", ["cut", "gone", "sources", "flags", "manifest"])
def test_what_is_not_as_it_was_built_is_compiled_instead_and_that_is_said(folder, damage, caplog):
    library = kernel_sources.library(folder, HERE[-1])
    manifest = library.with_name("manifest.json")
    flags = AS_WRITTEN
    if damage == "cut":
        library.write_bytes(library.read_bytes()[:1000])
    elif damage == "gone":
        library.unlink()
    elif damage == "sources":
        (folder / "more.hpp").write_text("// new")
    elif damage == "flags":
        flags = ()
    else:
        manifest.write_text('{"sources": 3}')
    assert Kernel(folder, flags, ANSWER)["answer"]() == 1
    assert "kernels are compiled instead" in caplog.text
    assert "compiling the kernels, once (some seconds)" in caplog.text


def test_a_checkpoint_names_the_kernels_that_came_along(folder):
    ready = kernel(folder)
    step = {"from_round": 0, "backend": "native", "learn": ready.digest, "cpu": "x86_64 AVX2"}
    assert provenance.in_words([step]) == f"native (learn {ready.digest}) on x86_64 AVX2"
    past = provenance.Origin({}, (step,))
    now = {"backend": "native", "learn": "0123456789ab", "cpu": "x86_64 AVX2"}
    with pytest.raises(BadInput, match=f"learn = {ready.digest}, which here is 0123456789ab"):
        provenance.gone_on(past, now, 3, allow=False, folder=folder)


def test_wheels_build_every_kernel_as_it_is_built_here():
    kernels = {"training": LEARN, "compression": COMPRESS, "radio": RADIO}
    assert {name: each.flags for name, each in kernels.items()} == kernel_sources.KERNELS
    found = {path.parts[-3] for path in Path(prebuilt.__file__).parent.glob("*/native/kernel.cpp")}
    assert found == kernel_sources.KERNELS.keys()


def test_a_source_checkout_brings_none_along():
    assert not list(Path(prebuilt.__file__).parent.rglob("manifest.json"))


def test_links_of_the_page_on_pypi_lead_out_of_it():
    """What setup.py makes of README.md: only absolute links, to this version."""
    root = Path(__file__).parents[2]
    code = (root / "setup.py").read_text("utf-8").partition("\nsetup(")[0]
    space = {"__file__": str(root / "setup.py"), "__name__": "setup"}
    exec(compile(code, "setup.py", "exec"), space)
    page = space["long_description"]()
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    links = re.findall(r"\]\(([^()\s]+)\)", page)
    assert links
    assert all(link.startswith(("https://", "#")) for link in links)
    source = f"{project['urls']['Source']}/"
    inside = [link.removeprefix(source) for link in links if link.startswith(source)]
    assert len(inside) > 3
    for link in inside:
        kind, tag, path = link.split("/", 2)
        assert (kind in ("raw", "blob"), tag) == (True, f"v{project['version']}")
        assert (root / path.partition("#")[0]).exists()

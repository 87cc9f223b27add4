"""The cache of compiled kernels: nothing in it is believed that anybody else can have written."""

import ctypes
import os
import stat
import subprocess
import time
from pathlib import Path

import pytest

from airfeel import compiled, kernel_cache
from airfeel.compiled import AS_WRITTEN, BuildError, Kernel

SOURCE = 'extern "C" __attribute__((visibility("default"))) int airfeel_answer() {{ return {}; }}'
ANSWER = {"answer": (ctypes.c_int, ())}
root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Sources of a kernel that says 42, with a cache and temporary files of their own."""
    folder = tmp_path / "kernel"
    folder.mkdir()
    (folder / "kernel.cpp").write_text(SOURCE.format(42))
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(kernel_cache.tempfile, "tempdir", str(tmp_path / "tmp"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    try:
        build(folder)  # not loaded yet: what is loaded cannot be damaged without a crash
    except BuildError as error:
        pytest.skip(str(error))
    return folder


@pytest.fixture
def cached(folder):
    """The library in the cache."""
    (path,) = compiled.cache_directory().iterdir()
    return path


def answer(folder):
    return Kernel(folder, AS_WRITTEN, ANSWER)["answer"]()


def build(folder):
    return compiled.build(folder, compiled.cache_directory(), AS_WRITTEN)


def planted(folder, path):
    """A library that says 666, in the place of another."""
    evil = folder.parent / "evil.cpp"
    evil.write_text(SOURCE.format(666))
    flags = ["-shared", "-fPIC", str(evil), "-o", str(path)]
    subprocess.run([compiled.find_compiler(), *flags], check=True)


def test_the_cache_is_its_users_alone(folder, cached):
    assert stat.S_IMODE(cached.parent.stat().st_mode) == 0o700
    assert not cached.stat().st_mode & 0o077
    assert build(folder) == cached, "a second load builds nothing"


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "planted", "folder", "link"])
def test_a_library_that_is_not_what_the_compiler_wrote_is_built_again(folder, cached, damage):
    """On the code before, a cut library killed every process with SIGBUS, for ever."""
    whole, before = cached.read_bytes(), cached.stat().st_mtime_ns
    if damage == "planted":
        planted(folder, cached)
    elif damage == "link":
        planted(folder, folder.parent / "evil.so")
        cached.unlink()
        cached.symlink_to(folder.parent / "evil.so")
    elif damage == "folder":
        cached.unlink()
        cached.mkdir()
    else:
        middle = len(whole) // 2
        flipped = whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :]
        cached.write_bytes({"cut": whole[:middle], "empty": b"", "flipped": flipped}[damage])
    if damage == "folder":  # not ours to remove: it does without, and says so
        assert "cannot write to" in Kernel(folder, AS_WRITTEN, ANSWER).missing
        return
    assert answer(folder) == 42
    assert cached.read_bytes() == whole
    assert cached.stat().st_mtime_ns != before


def test_a_library_that_others_may_have_written_to_is_built_again(folder, cached):
    planted(folder, cached)
    evil = cached.rename(cached.with_name(kernel_cache._name(cached.name.split("-")[1], cached)))
    evil.chmod(0o722)
    assert answer(folder) == 42
    assert not evil.exists()


def test_a_directory_of_ours_is_closed_to_others(folder, cached):
    cached.parent.chmod(0o777)
    assert answer(folder) == 42
    assert stat.S_IMODE(cached.parent.stat().st_mode) == 0o700


@root
def test_a_library_in_a_directory_of_another_user_is_not_run(folder, cached, caplog):
    """On the code before, a stranger's library ran with the rights of whoever ran airfeel."""
    key = cached.name.split("-")[1].removesuffix(".so")
    for name in (cached.name, f"airfeel-{key}.so"):
        planted(folder, cached.with_name(name))
    evil = cached.rename(cached.with_name(kernel_cache._name(key, cached)))
    for path in (evil, evil.parent):
        os.chown(path, 12345, 12345)
        path.chmod(0o777)
    kernel_cache.warn.cache_clear()
    for _ in range(2):
        assert answer(folder) == 42
    assert [r.getMessage() for r in caplog.records] == [
        f"{evil.parent}: belongs to user 12345, not to {os.getuid()}; compiled kernels are kept in "
        f"{folder.parent}/tmp/airfeel-native-{os.getuid()} instead",
        "compiling the kernels, once (some seconds)",
    ]


def test_a_directory_in_a_place_where_everybody_may_rename_is_avoided(folder, cached, caplog):
    cached.parent.parent.chmod(0o777)
    kernel_cache.warn.cache_clear()
    assert folder.parent / "tmp" in build(folder).parents
    assert "everybody may rename" in caplog.text


@root
def test_without_any_safe_directory_one_is_made_and_removed(folder, cached, tmp_path, monkeypatch):
    at_exit = []
    monkeypatch.setattr(kernel_cache.atexit, "register", lambda *a, **k: at_exit.append((a, k)))
    mine = tmp_path / "tmp" / f"airfeel-native-{os.getuid()}"
    mine.mkdir()
    for path in (mine, cached.parent):
        os.chown(path, 12345, 12345)
    kernel_cache._passing.cache_clear()
    built = build(folder)
    kernel_cache._passing.cache_clear()
    assert built.parent.parent == tmp_path / "tmp"
    assert stat.S_IMODE(built.parent.stat().st_mode) == 0o700
    for (remove, *arguments), options in at_exit:
        remove(*arguments, **options)
    assert not built.parent.exists()


def test_without_a_home_there_is_a_cache_all_the_same(monkeypatch):
    def nobody(path):
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", classmethod(nobody))
    assert compiled.cache_directory().parts[-2:] == ("airfeel", "native")


@pytest.mark.parametrize("hangs", ["always", "-o"])
def test_a_compiler_that_hangs_is_ended_and_not_asked_again(folder, tmp_path, monkeypatch, hangs):
    compiler, log = tmp_path / "slow++", tmp_path / "log"
    real = compiled.find_compiler()
    wait = f"echo $$ >> {log}; sleep 300 & wait"
    patience = f'case "$*" in *" {hangs} "*) {wait};; esac; exec {real} "$@"'
    compiler.write_text("#!/bin/sh\n" + (wait if hangs == "always" else patience))
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    monkeypatch.setattr(compiled, "ANSWER", 1.0)
    monkeypatch.setattr(compiled, "TIMEOUT", 1.0)
    (folder / "kernel.cpp").write_text(SOURCE.format(43))
    begin = time.monotonic()
    for _ in range(3):
        assert "did not come to an end" in Kernel(folder, AS_WRITTEN, ANSWER).missing
    assert time.monotonic() - begin < 20
    (group,) = log.read_text().split()
    for _ in range(100):  # what it started is ended too
        try:
            os.killpg(int(group), 0)
        except ProcessLookupError:
            break
        time.sleep(0.1)
    else:
        pytest.fail("the compiler's children are still there")


def test_leftovers_are_removed_when_something_is_built(folder, cached):
    old, home = time.time() - 365 * 86400, cached.parent
    killed, stale = home / "building-killed", home / "airfeel-0123456789abcdef.so"
    for path in (killed, home / "building-now"):
        path.mkdir()
        (path / "built.so").write_bytes(b"half")
    for path in (stale, home / "airfeel-of-another-machine.so", home / "mine.txt"):
        path.write_bytes(b"")
    for path in (killed, stale, home / "mine.txt"):
        os.utime(path, (old, old))
    os.utime(cached, (old, old))
    build(folder)
    assert time.time() - cached.stat().st_mtime < 3600, "what is in use stays in use"
    assert killed.exists(), "loading looks at nothing else"
    (folder / "kernel.cpp").write_text(SOURCE.format(43))
    new = build(folder)
    assert {path.name for path in home.iterdir()} == {
        *("building-now", "airfeel-of-another-machine.so", "mine.txt", cached.name, new.name)
    }


def test_the_key_tells_cpus_apart_without_proc_cpuinfo(folder, cached, monkeypatch):
    """On the code before, such machines differed by platform.processor() alone, often empty."""

    def forbidden(path, *args, **kwargs):
        raise FileNotFoundError(path)

    monkeypatch.setattr(compiled.platform, "processor", str)
    monkeypatch.setattr(Path, "read_text", forbidden)
    keys = set()
    for tuning in ((), ("-mavx2",), ("-mavx512f",)):
        monkeypatch.setattr(compiled, "TUNING", (tuning,))
        for asked in (compiled._tuned, compiled._cpu):
            asked.cache_clear()
        try:
            keys.add(compiled._cpu(compiled.find_compiler()))
        except BuildError:  # another architecture has neither
            pytest.skip("not an x86 compiler")
    for asked in (compiled._tuned, compiled._cpu):
        asked.cache_clear()
    assert len(keys) == 3

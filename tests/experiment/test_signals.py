"""Whoever asks a run to stop, it is saved; a terminal that goes away is one of them."""

import fcntl
import os
import pty
import signal
import subprocess
import sys
import termios
import time

import pytest

from airfeel.runs.signals import Signals
from airfeel.storage import checkpoint

HUP, INT, TERM = signal.SIGHUP, signal.SIGINT, signal.SIGTERM


def tell(*numbers, hasty=True):
    """The signals that a process hears, and the one that ends it at once, if any."""
    ended = []
    with pytest.MonkeyPatch.context() as patch, Signals(hasty=hasty) as signals:
        patch.setattr(os, "kill", lambda _, number: ended.append(number))
        for number in numbers:
            if signal.getsignal(number) is not signal.SIG_DFL:
                signal.raise_signal(number)
    return signals.received, ended


@pytest.mark.parametrize("number", [HUP, INT, TERM])
def test_the_first_signal_asks(number):
    assert tell(number) == (number, [])


@pytest.mark.parametrize("numbers", [(INT, INT), (TERM, INT), (HUP, TERM, TERM)])
def test_a_second_one_stops_the_process_at_once(numbers):
    assert tell(*numbers)[1] == [numbers[-1]]


@pytest.mark.parametrize("numbers", [(HUP, HUP, HUP), (HUP, TERM), (TERM, HUP)])
def test_a_hangup_is_never_the_second_one(numbers):
    assert tell(*numbers)[1] == []


def test_a_worker_of_a_sweep_has_its_round_however_often_it_is_told():
    assert tell(INT, TERM, TERM, TERM, hasty=False) == (TERM, [])


def test_a_hangup_that_is_ignored_stays_so():
    before = signal.signal(HUP, signal.SIG_IGN)
    try:
        with Signals() as signals:
            signal.raise_signal(HUP)
        assert signals.received is None
        assert signal.getsignal(HUP) is signal.SIG_IGN
    finally:
        signal.signal(HUP, before)


def test_a_run_whose_terminal_goes_away_is_saved(tmp_path):
    """The terminal's end is heard as a hangup, and from then on it cannot be written to."""
    master, slave = pty.openpty()
    command = "from airfeel.cli import main; main()"
    long = ["--set", "training.rounds=100000", "--set", "budget.slots=100000000"]
    process = subprocess.Popen(
        [sys.executable, "-c", command, "run", "digits-tcs-h", *long, "--out", str(tmp_path / "r")],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
        preexec_fn=_own_terminal,
    )
    os.close(slave)
    _read_until(master, b"round ")
    os.close(master)
    assert process.wait(60) == 129
    found, faults = checkpoint.newest(tmp_path / "r")
    assert not faults
    assert found.state.round > 0


def _own_terminal():
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def _read_until(master, text):
    said, until = b"", time.monotonic() + 60
    while text not in said and time.monotonic() < until:
        said += os.read(master, 4096)
    assert text in said

"""What the fault tests run in a process of its own, to be killed there."""

import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import airfeel
from airfeel.experiment.load import experiment


def go_on(folder: str, table: dict, die_at: int = 0) -> None:
    """Start or resume the run in `folder`; die at the given fsync or rename, if any."""
    if die_at:
        _mine(die_at)
    path = Path(folder)
    try:
        if (path / "config.toml").exists():
            airfeel.resume(path)
        else:
            airfeel.run(experiment(table), path)
    except airfeel.BadInput as error:
        if "complete" not in str(error):
            raise


def _mine(count: int) -> None:
    """SIGKILL in the middle of the count-th durable step: before it, or right after it."""
    left = [count]

    def wrap(step):
        def counted(*arguments, **named):
            left[0] -= 1
            if left[0] == 0 and count % 2:
                os.kill(os.getpid(), signal.SIGKILL)
            done = step(*arguments, **named)
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return done

        return counted

    os.fsync, os.replace = wrap(os.fsync), wrap(os.replace)

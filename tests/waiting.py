"""Waiting for something that happens elsewhere."""

import time


def until(holds, seconds=30.0):
    """Until it holds; a failure if that takes too long."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "waited for too long"
        time.sleep(0.02)

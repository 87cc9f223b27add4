"""Imported by the process that workers are forked from, by nothing else: it must outlive signals.

A closed terminal or a `kill` of the whole group is for the workers, who save and end; without
their server nobody could tell how they ended.
"""

import signal
import sys

import airfeel.sweeps.pool  # noqa: F401  what every worker needs

_SERVES = any("multiprocessing.forkserver" in word for word in sys.orig_argv)
_DEAF = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
BEFORE = {number: signal.signal(number, signal.SIG_IGN) for number in _DEAF if _SERVES}

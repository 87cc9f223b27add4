"""A watcher that interrupts a run, as Ctrl-C does."""

import signal


class Stop:
    """Interrupts a run after so many rows."""

    def __init__(self, signals, rows):
        self.signals, self.rows = signals, rows

    def begin(self, experiment, world):
        pass

    def row(self, row):
        self.rows -= 1
        if self.rows == 0:
            self.signals.received = signal.SIGINT

    def end(self, summary):
        pass

"""One run: the loop over rounds, its progress, signals, summary and starvation."""

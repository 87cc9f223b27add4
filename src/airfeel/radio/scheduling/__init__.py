"""Plans of a round: which devices transmit, where, when, and why others do not."""

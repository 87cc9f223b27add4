"""From what was received to the global update."""

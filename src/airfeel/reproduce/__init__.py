"""The paper's experiments as curves, its claims as a table, and its costs without training."""

"""The paper's experiments as curves, their claims as a table, and its arithmetic without training."""

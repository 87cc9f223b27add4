"""The server's optimiser: from the decoded update to how the model moves."""

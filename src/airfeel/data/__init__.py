"""Where samples come from, and which device holds which."""

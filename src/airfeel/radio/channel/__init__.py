"""Channel models: fading, delay profiles, correlation, traces and cells."""

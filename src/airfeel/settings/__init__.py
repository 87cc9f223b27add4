"""Settings of an experiment: their sections, files, presets and checks."""

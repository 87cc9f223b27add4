"""Run folders: rows, checkpoints, checksums, provenance, and their readers."""

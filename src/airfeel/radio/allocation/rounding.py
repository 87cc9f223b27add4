"""Sums of energies and rates are off in their last digits: by how much they may be."""

FITS = 1.0 + 1e-12  # times a limit: what is above it but for rounding keeps it
SPENT = 1.0 - 1e-12  # times a limit: what is below it but for rounding reaches it

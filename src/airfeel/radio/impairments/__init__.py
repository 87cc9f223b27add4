"""Impairments of a real radio: CSI errors, synchronization, RF front end, packets."""

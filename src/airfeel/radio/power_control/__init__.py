"""Transmit power control of symbols that are sent over the air."""

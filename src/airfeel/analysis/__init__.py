"""Stored rows compared: criteria, groups, paired differences, rankings and tables."""

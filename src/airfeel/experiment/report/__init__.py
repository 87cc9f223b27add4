"""A page, figures and tables of runs, from their stored rows only."""

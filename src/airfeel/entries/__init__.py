"""The longer catalogues; `catalogues.py` is where all of them are found."""

"""`python -m airfeel` is the command line, too."""

import os
import sys

if __name__ == "__main__":
    if not sys.flags.safe_path and sys.path[:1] == [os.getcwd()]:
        del sys.path[0]  # of `python -m`: a file there must not stand in for a library's module

from airfeel.cli import main

if __name__ == "__main__":
    main()

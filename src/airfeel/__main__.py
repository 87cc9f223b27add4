"""`python -m airfeel` is the command line, too."""

from airfeel.cli import main

if __name__ == "__main__":
    main()

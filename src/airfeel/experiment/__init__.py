"""Settings, runs, their folders, and comparing them."""

"""Device selection: which devices train, and which of them may transmit."""

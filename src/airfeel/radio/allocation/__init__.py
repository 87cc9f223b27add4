"""Sub-channel assignment and water-filling."""

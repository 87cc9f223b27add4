"""What the base station receives: over the air, and digitally."""

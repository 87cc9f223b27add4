"""Where devices are trained."""

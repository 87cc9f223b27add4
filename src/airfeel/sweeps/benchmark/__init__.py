"""Many schemes on one sky, at the same budgets, each with settings found by equal tuning."""

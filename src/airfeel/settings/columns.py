"""Columns of rounds.csv."""

ROUND_COLUMNS = [
    "round",
    "scheduled",
    "slots_air",
    "slots_digital",
    "slots",
    "resource_blocks",
    "bits",
    "energy_mean",
    "energy_max",
    "energy_total",
    "needed_median",
    "budget_median",
    "feedback_scheduled",
    "feedback_unscheduled",
    "update_norm",
    "distortion",
    "mask_overlap",
    "dropped",
    "train_loss",
    "test_accuracy",
    "test_loss",
    "seconds",
]
BEFORE = ("test_accuracy_before", "test_loss_before")  # of evaluations at budgets

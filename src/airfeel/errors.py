"""The one error that a user's input can cause."""


class BadInput(ValueError):
    """Input that cannot be used: one line naming the field, its value and what is legal."""

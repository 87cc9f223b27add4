"""Shapes and types in signatures are executed in every test; being slow is no failure."""

from hypothesis import settings
from jaxtyping import install_import_hook

settings.register_profile("airfeel", deadline=None)
settings.load_profile("airfeel")
install_import_hook("airfeel", "typecheck.checked")

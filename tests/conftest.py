"""Shapes and types in signatures are executed in every test."""

from jaxtyping import install_import_hook

install_import_hook("airfeel", "typecheck.checked")

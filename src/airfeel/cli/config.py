"""airfeel config."""

import json

import typer

from airfeel.cli.options import Set, Source
from airfeel.settings.load import load
from airfeel.settings.relevance import as_toml

app = typer.Typer(help="Show settings.", no_args_is_help=True)


@app.command()
def show(source: Source, set_: Set = None) -> None:
    """Print every setting of a preset or file, resolved, as TOML."""
    typer.echo(as_toml(load(source, set_ or ())), nl=False)


@app.command()
def schema() -> None:
    """Print the JSON schema of the settings, with units and legal ranges."""
    from airfeel.settings import schema as schemas

    typer.echo(json.dumps(schemas.schema(), indent=2, ensure_ascii=False))

"""The commands that train judges: `moonlynx train`."""

import typer

from .luna import cli as luna
from .luna2 import cli as luna2
from .lynx import cli as lynx
from .raghalu import cli as raghalu

app = typer.Typer()
train_app = typer.Typer(help="Train a judge.", no_args_is_help=True)
app.add_typer(train_app, name="train")
for recipe in (luna, luna2, lynx, raghalu):
    recipe.add_commands(train_app)

"""The command line within this process, for what needs no process of its own."""

from typer.testing import CliRunner

from moonlynx.cli import app


def moonlynx(*arguments, **options):
    return CliRunner().invoke(app, [*map(str, arguments)], **options)

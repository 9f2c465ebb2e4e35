"""The command line within this process, for what needs no process of its own."""

from typer.testing import CliRunner

from moonlynx.cli import app as whole


def moonlynx(*arguments, app=whole, **options):
    return CliRunner().invoke(app, [*map(str, arguments)], **options)


def flat(text):
    """Return a message on one line, without the frame whose width breaks it anywhere."""
    return " ".join(text.replace("│", " ").split())


def succeed(*arguments, app=whole):
    """Run a command that must end well; return all that it prints."""
    result = moonlynx(*arguments, app=app)
    assert result.exit_code == 0, result.output + repr(result.exception)
    return result.output

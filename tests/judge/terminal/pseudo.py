"""A terminal of a test's own, for commands that look for one."""

import os
import pty
import subprocess
import sys


def on_terminal(program, *, columns=100, **streams):
    """Run Python on a program; return exit code, standard output and what the terminal shows.

    Of the standard streams, those that are not given are the terminal.
    """
    ours, theirs = pty.openpty()
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), theirs) | streams
    environment = os.environ | {"COLUMNS": str(columns), "TERM": "xterm-256color"}
    command = [sys.executable, *map(os.fsencode, program)]
    with subprocess.Popen(command, env=environment, **streams) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                shown += os.read(ours, 65_536)
            except OSError:  # the other end is closed
                break
        printed = process.stdout.read() if process.stdout else b""
    os.close(ours)
    return process.returncode, printed, shown.decode()

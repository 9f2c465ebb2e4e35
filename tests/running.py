"""A command, run to its end."""

import subprocess


def run(*words, **options):
    return subprocess.run(
        [*map(str, words)], capture_output=True, text=True, check=False, **options
    )

"""Print the labelled examples: `python -m moonlynx.judge.examples > labelled.jsonl`."""

import sys
from importlib.resources import files

sys.stdout.buffer.write(files(__package__).joinpath("labelled.jsonl").read_bytes())

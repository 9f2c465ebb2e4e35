"""Print the folder that `lm_eval --include_path` takes."""

import sys
from pathlib import Path

sys.stdout.write(f"{Path(__file__).resolve().parent}\n")

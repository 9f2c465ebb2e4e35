import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from .record import Bench

Done = tuple[subprocess.CompletedProcess[str], Bench | None]


@pytest.fixture
def bench(tmp_path: Path) -> Callable[..., Done]:
    """Run a benchmark as its user does; gives the process and, where it wrote one, its record."""

    def call(module: str, *arguments: object) -> Done:
        report = tmp_path / "found.md"
        command = [sys.executable, "-m", f"tests.bench.{module}", *map(str, arguments)]
        command += ["--report", str(report)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        path = report.with_suffix(".json")
        found = Bench.model_validate_json(path.read_bytes()) if path.exists() else None
        return done, found

    return call

"""Where a report comes from: the files it was made of and the judges that were run."""

from __future__ import annotations

import hashlib
from pathlib import Path

from moonlynx.judge.contract.spec import JudgeSpec, parse_spec
from moonlynx.judge.contract.types import JudgeInfo, Record


class File(Record):
    """A file and its SHA-256; `path` is its name, or its path below the data folder."""

    path: str
    sha256: str

    @classmethod
    def of(cls, path: Path) -> File:
        """Return a file with its hash."""
        return cls(path=path.name, sha256=hashlib.sha256(path.read_bytes()).hexdigest())


class JudgeRun(Record):
    """A judge that was run over a benchmark, and what set its decision threshold."""

    spec: str
    judge: JudgeInfo
    threshold: str
    calibration: File | None
    verdicts: File

    @classmethod
    def of(cls, spec: str, judge: JudgeInfo, verdicts: Path) -> JudgeRun:
        """Describe a run from the name the judge was loaded by."""
        parsed = parse_spec(spec)
        options = parsed.options if isinstance(parsed, JudgeSpec) else {}
        calibration = options.get("calibration")
        chosen = "of the calibration" if calibration else "the judge's own"
        return cls(
            spec=spec,
            judge=judge,
            threshold=options.get("threshold", chosen),
            calibration=File.of(Path(calibration)) if calibration else None,
            verdicts=File.of(verdicts),
        )

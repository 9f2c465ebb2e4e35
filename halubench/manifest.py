"""What a build is: what was asked for, what became of it, and the hashes of its files."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from moonlynx.judge.contract.types import Count, Record, Text
from moonlynx.judge.files.journal import RunMismatch, check_run
from moonlynx.judge.files.stored import sha256_file

from .sources import Split

MANIFEST = "manifest.json"

Contexts = Literal["whole", "excerpt"]


class Plan(Record):
    """What was asked for.

    Attributes:
        split: test for the benchmark, train for training and validation.
        rows: of all parts.
        seed: of every draw.
        contexts: long contexts whole, or only the excerpt that holds the answer.
        data: a folder of files, or the Hub.
        perturber: what perturbed answers.
        against: SHA-256, by name, of the files of test rows that no training row shares text with.
    """

    split: Split
    rows: Count
    seed: int
    contexts: Contexts
    data: Literal["folder", "hub"]
    perturber: Text
    against: Mapping[Text, Text] = {}


class PartReport(Record):
    """What a part got of a source.

    Attributes:
        part: test, train or validation.
        wanted, wanted_fails: rows asked for; no FAIL count where the source's own draw decides.
        rows, fails: rows built.
        unchanged: PASS rows of answers that could not be perturbed.
        missing: why there are fewer rows than wanted; None where there are not.
    """

    part: Text
    wanted: Count
    wanted_fails: Count | None
    rows: Count
    fails: Count
    unchanged: Count = 0
    missing: Text | None = None


class SourceReport(Record):
    """What became of a source.

    Attributes:
        source, title: its name in HaluBench, and its paper.
        files: SHA-256 by file or dataset, as in the rows' provenance.
        licences: of those files.
        revisions: commits of those from the Hub.
        read: rows that were there to draw from.
        left_out: rows that the draw came upon and left, by reason.
        parts: what each part got.
    """

    source: Text
    title: Text
    files: Mapping[Text, Text]
    licences: tuple[Text, ...]
    revisions: tuple[Text, ...]
    read: Count
    left_out: Mapping[Text, Count]
    parts: tuple[PartReport, ...]


class Output(Record):
    """A file of the build; `rows` is null where it holds none."""

    sha256: Text
    rows: Count | None = None


class Manifest(Record):
    """A whole build. It is written last, so where it is the build is complete."""

    version: Text
    plan: Plan
    sources: tuple[SourceReport, ...]
    kinds: Mapping[Text, Count]
    rejections: Mapping[Text, Mapping[Text, Count]]
    outputs: Mapping[Text, Output]


def read_manifest(folder: Path) -> Manifest | None:
    """Read a folder's manifest; None where it has none.

    Raises:
        RunMismatch: the file is none of ours.
    """
    path = folder / MANIFEST
    try:
        return Manifest.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except ValidationError:
        raise RunMismatch(folder, f"has a {MANIFEST} that is none of this version") from None


def is_complete(folder: Path, plan: Plan) -> bool:
    """Return whether the folder holds the whole build that the plan asks for.

    Raises:
        RunMismatch: it holds another build.
    """
    manifest = read_manifest(folder)
    if manifest is None:
        return False
    check_run(folder, dict(manifest.plan), dict(plan))
    return all(
        (folder / name).is_file() and sha256_file(folder / name) == output.sha256
        for name, output in manifest.outputs.items()
    )

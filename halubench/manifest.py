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
    """What was asked for."""

    split: Split  # test for the benchmark, train for training and validation
    rows: Count  # of all parts
    seed: int  # of every draw
    contexts: Contexts  # long contexts whole, or only the excerpt that holds the answer
    data: Literal["folder", "hub"]  # a folder of files, or the Hub
    perturber: Text  # what perturbed answers
    more_ragtruth: Count = 0  # training rows of RAGTruth beside the paper's 600
    # SHA-256, by name, of the files of test rows that no training row shares text with
    against: Mapping[Text, Text] = {}


class PartReport(Record):
    """What a part got of a source."""

    part: Text  # test, train or validation
    # rows asked for; no FAIL count where the source's own draw decides
    wanted: Count
    wanted_fails: Count | None
    # rows built
    rows: Count
    fails: Count
    unchanged: Count = 0  # PASS rows of answers that could not be perturbed
    missing: Text | None = None  # why there are fewer rows than wanted; None where there are not


class SourceReport(Record):
    """What became of a source."""

    # its name in HaluBench, and its paper
    source: Text
    title: Text
    files: Mapping[Text, Text]  # SHA-256 by file or dataset, as in the rows' provenance
    licences: tuple[Text, ...]  # of those files
    revisions: tuple[Text, ...]  # commits of those from the Hub
    read: Count  # rows that were there to draw from
    left_out: Mapping[Text, Count]  # rows that the draw came upon and left, by reason
    parts: tuple[PartReport, ...]  # what each part got


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

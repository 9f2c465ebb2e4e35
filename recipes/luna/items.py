"""What the encoder is trained on: claims with the premises that should or should not hold them."""

import gzip
import json
import os
import zlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from moonlynx.judge.contract.types import MoonlynxError, first_fault
from moonlynx.judge.judges.luna.novelty import NewWord

ITEMS = "items.jsonl.gz"  # in a stage's folder: what it learns from


class BrokenItems(MoonlynxError, ValueError):
    """A file of items that cannot be read."""


@dataclass(frozen=True, slots=True)
class Item:
    """A claim and the windows of context it is read with."""

    claim: str  # one sentence
    # the text of each window, at least one. A claim is supported if one of them supports it; which
    # one need not be known
    premises: tuple[str, ...]
    # the claim's label; None where all that is known is that its answer holds a wrong claim
    supported: bool | None
    source: str  # the data set, for the mix and for reports
    lead: str = ""  # the question and what the answer says before the claim
    # unsupported character ranges of the claim; None where they are not known
    spans: tuple[tuple[int, int], ...] | None = None
    # names that answer, so that its claims are learned from together; "" where the label is known
    answer: str = ""
    # P(supported) by another judge, to be learned instead of the label; None without one
    belief: float | None = None
    # words of the claim that are nowhere in the documents that the premises are from
    new: tuple[NewWord, ...] = ()
    # of an unsupported claim, whether the premises say otherwise (True) or say nothing of it
    # (False); None where that is not known
    contradicted: bool | None = None
    # P(supported) by a larger encoder, to be learned beside the label; None without one
    teacher: float | None = None


def kept_items(path: Path, make: Callable[[], Sequence[Item]]) -> Sequence[Item]:
    """Return the items in a file of gzipped JSON lines, which is written where there is none.

    Raises:
        BrokenItems: the file holds something else.
    """
    if not path.exists():
        items = make()
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{path.name}.{os.getpid()}.part")  # one of several processes'
        with gzip.open(part, "wt", encoding="utf-8") as file:
            file.writelines(json.dumps(asdict(item), ensure_ascii=False) + "\n" for item in items)
        part.replace(path)
        return items
    return _read(path)


def _read(path: Path) -> list[Item]:
    adapter, items = TypeAdapter(Item), list[Item]()
    try:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            for line in file:
                items.append(adapter.validate_json(line))
    except ValidationError as error:
        field, message = first_fault(error, "row")
        fault = f"line {len(items) + 1}: {field}: {message}"
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        fault = str(error)
    else:
        return items
    raise BrokenItems(f"{path} has no readable items ({fault}); remove it, and it is written anew")

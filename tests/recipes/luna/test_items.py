import gzip

import pytest

from moonlynx.judge.backends.encoder import TokenType
from moonlynx.recipes.luna.items import BrokenItems, Item, kept_items

ITEMS = [
    Item("“Es kostet 5 €.”", ("It costs €5.", "It is 5."), True, "mnli", lead="How much?"),
    Item(
        "b",
        ("c",),
        None,
        "frank",
        spans=((0, 1),),
        answer="frank/3",
        belief=0.25,
        new=((0, 1, TokenType.NEW_NAME),),
    ),
]


LINE = b'{"claim": "b", "premises": ["c"], "supported": true, "source": "snli"}\n'


def no_items():
    pytest.fail("items that are kept are made again")


def test_items_are_made_once_and_nothing_kept_of_what_could_not_be_made(tmp_path):
    path = tmp_path / "answers" / "items.jsonl.gz"
    assert kept_items(path, lambda: ITEMS) == ITEMS
    assert kept_items(path, no_items) == ITEMS
    assert list(path.parent.iterdir()) == [path]
    path = tmp_path / "none" / "items.jsonl.gz"

    def fail():
        raise OSError("no data")

    with pytest.raises(OSError, match="no data"):
        kept_items(path, fail)
    assert not path.parent.exists()


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"no gzip", ""),
        (
            gzip.compress(LINE + LINE.replace(b"true", b'"maybe"')),
            r"\(line 2: supported: .*boolean",
        ),
        (gzip.compress(b"[\n" * 9000)[:-20], ""),
        (gzip.compress(LINE)[:10] + b"\xff" * 40, ""),
        (gzip.compress(b"\xff\n"), ""),
    ],
    ids=["no gzip", "no item", "cut off", "spoilt within", "no UTF-8"],
)
def test_a_file_that_holds_something_else_is_named(tmp_path, content, why):
    path = tmp_path / "items.jsonl.gz"
    path.write_bytes(content)
    with pytest.raises(
        BrokenItems, match=rf"items\.jsonl\.gz has no readable items .*{why}.*; remove it"
    ):
        kept_items(path, no_items)

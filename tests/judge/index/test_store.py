import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moonlynx.judge.contract.types import MoonlynxError
from moonlynx.judge.index.store import (
    LIST,
    BrokenIndex,
    Changes,
    load_index,
    read_documents,
    update,
)

from ...strategies import texts as any_texts

TEXTS = {"a.md": "The bridge opened in 1932.", "b.md": "The tower has four bells."}


def build(folder, texts=TEXTS, **options):
    return update(folder, iter(texts.items()), **options)


def test_a_folder_is_read_however_deep_and_its_hidden_and_other_files_are_not(tmp_path):
    for name in ("one.md", "deep/er/two.TXT", ".git/three.md", ".four.md", "five.png"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"\xef\xbb\xbfText.\r\n")
    assert dict(read_documents(tmp_path)) == dict.fromkeys(
        ["deep/er/two.TXT", "one.md"], "Text.\r\n"
    )
    assert dict(read_documents(tmp_path / "five.png")) == {"five.png": "Text.\r\n"}


def test_what_is_no_text_or_no_document_is_named(tmp_path):
    with pytest.raises(MoonlynxError, match=r"holds no documents; give a text file"):
        list(read_documents(tmp_path))
    (tmp_path / "a.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(MoonlynxError, match=r"a\.txt: is not UTF-8 text; convert or remove it"):
        list(read_documents(tmp_path))


def test_documents_are_added_and_replaced_and_removed_only_on_demand(tmp_path):
    assert build(tmp_path) == Changes(2, 0, 0, 0)
    files = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert build(tmp_path, {"c.md": "New.", "a.md": TEXTS["a.md"]}) == Changes(1, 0, 1, 0)
    kept = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert all(kept[name] == time for name, time in files.items() if name != LIST)
    assert list(load_index(tmp_path).texts) == ["a.md", "b.md", "c.md"]
    assert build(tmp_path, {"a.md": "It opened in 1950."}, prune=True) == Changes(0, 1, 0, 2)
    assert load_index(tmp_path).texts == {"a.md": "It opened in 1950."}
    assert len(list(tmp_path.iterdir())) == 2


def test_the_version_is_that_of_the_documents_alone(tmp_path):
    build(tmp_path / "one")
    build(tmp_path / "other", dict([*TEXTS.items()][:1]))
    before = load_index(tmp_path / "other").version
    build(tmp_path / "other")
    assert before != load_index(tmp_path / "one").version == load_index(tmp_path / "other").version


@pytest.mark.parametrize("damage", ["{}", None, '{"text": "Other."}'])
def test_a_damaged_file_is_refused_and_built_anew(tmp_path, damage):
    build(tmp_path)
    sound = load_index(tmp_path).version
    file = next(path for path in tmp_path.iterdir() if path.name != LIST)
    file.unlink() if damage is None else file.write_text(damage)
    with pytest.raises(BrokenIndex, match=rf"{file.name}: is missing or has changed since"):
        load_index(tmp_path)
    build(tmp_path)
    assert load_index(tmp_path).version == sound


@pytest.mark.parametrize(
    ("listing", "message"),
    [
        (None, r"cannot read .*index\.json: No such file"),
        ("[]", r"index\.json: file: .*; give a folder that moonlynx index has written"),
        ('{"version": "9", "documents": []}', r"index\.json: version: "),
        ('{"documents": []}', r"the index holds no documents; build it anew"),
        (
            json.dumps({"documents": [{"name": "a", "text": "../a", "file": "b"}]}),
            r"index\.json: documents\.0\.text: ",
        ),
    ],
)
def test_another_folder_is_refused(tmp_path, listing, message):
    if listing is not None:
        (tmp_path / LIST).write_text(listing)
    with pytest.raises(BrokenIndex, match=message):
        load_index(tmp_path)


def test_a_folder_of_other_files_is_not_written_to(tmp_path):
    (tmp_path / "notes.txt").write_text("Mine.")
    with pytest.raises(BrokenIndex, match="or an empty one to write to"):
        build(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


@given(st.lists(any_texts, min_size=1, max_size=4))
def test_every_word_of_a_text_is_in_a_passage_of_its_document(tmp_path_factory, texts):
    folder = tmp_path_factory.mktemp("index")
    build(folder, {f"{number}.md": text for number, text in enumerate(texts)})
    index = load_index(folder)
    assert list(index.texts.values()) == texts
    for text, number in zip(texts, range(len(texts)), strict=True):
        covered = set()
        for passage in (index.documents == number).nonzero()[0]:
            for start, end, _ in index.parts[index.starts[passage] : index.starts[passage + 1]]:
                covered.update(range(start, end))
        assert all(place in covered for place, one in enumerate(text) if one.isalnum())


def test_a_text_without_sentences_is_cut_between_words(tmp_path):
    build(tmp_path, {"a": "word " * 1_000, "b": "x" * 3_000})
    index = load_index(tmp_path)
    assert max(end - start for start, end, _ in index.parts) <= 800
    texts = [*index.texts.values()]
    firsts = [texts[0][start : start + 4] for start, end, _ in index.parts if end <= 5_000][:5]
    assert firsts == ["word"] * 5

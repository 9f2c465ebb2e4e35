import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from moonlynx.halubench.annotate.records import Annotation, LabelledSentence
from moonlynx.halubench.annotate.store import Store, StoreError


def annotation(annotator="Anna", label="PASS", row="a/1", **fields):
    sentences = (LabelledSentence(start=0, end=29, label="SUPPORTED"),)
    known = {"id": row, "source": "a", "row_label": "PASS", "label": label, "sentences": sentences}
    return Annotation(**known | {"annotator": annotator} | fields)


def test_several_servers_start_and_save_at_once(store, file, tmp_path):
    names = ("Anna", "Ben", "Cleo", "Dan")

    def label_all(name):
        own = Store(store.path, file)
        for number in range(1, 26):
            own.save(number, annotation(name, row=str(number)), done=True, replace=False)

    with ThreadPoolExecutor(len(names)) as pool:
        list(pool.map(label_all, names))
    assert store.annotators() == dict.fromkeys(names, 25)
    assert [one.annotator for one in store.annotations()[:4]] == list(names)
    with closing(sqlite3.connect(store.path)) as database:
        assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    path = tmp_path / "new.sqlite"
    with ThreadPoolExecutor(4) as pool:
        stores = list(pool.map(lambda _: Store(path, file), range(4)))
    stores[0].save(1, annotation(), done=True, replace=False)
    assert stores[3].annotators() == {"Anna": 1}


def test_a_database_of_another_file_or_in_no_folder_is_refused(store, file, tmp_path):
    file.write_text(file.read_text() + "\n")
    with pytest.raises(
        StoreError, match=r"holds labels of another file than .*rows\.jsonl \(of ro"
    ):
        Store(store.path, file)
    assert Store(store.path).annotations() == []  # without a file it is taken as it is
    with pytest.raises(StoreError, match=r"nowhere/labels\.sqlite: unable to open"):
        Store(tmp_path / "nowhere" / "labels.sqlite", file)


def test_what_is_no_database_of_ours_is_refused_and_left_alone(file, tmp_path):
    text = tmp_path / "text.sqlite"
    text.write_text("This is a diary, and a long one, which nobody wants to lose. " * 5)
    other = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(other)) as database, database:
        database.execute("CREATE TABLE annotation (x)")
    before = text.read_bytes(), other.read_bytes()
    for path, message in ((text, "file is not a database"), (other, "is not a database of annot")):
        with pytest.raises(StoreError, match=message):
            Store(path, file)
        with pytest.raises(StoreError, match=message):
            Store(path)
    assert (text.read_bytes(), other.read_bytes()) == before

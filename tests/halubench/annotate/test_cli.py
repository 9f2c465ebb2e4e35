import json
import socket
import sys
from functools import partial

import pytest

from moonlynx.halubench.rows import write_rows
from moonlynx.judge.backends.base import MissingExtra
from moonlynx.judge.contract.types import MoonlynxError

from ...cases import cases
from ...command import moonlynx
from ..a_row import make_row
from .test_store import annotation

call = partial(moonlynx, "halubench")


def complaint(*arguments):
    done = call(*arguments)
    assert isinstance(done.exception, MoonlynxError), (done.output, done.exception)
    return str(done.exception)


@pytest.fixture
def labelled(store):
    store.save(1, annotation("Ben", "FAIL"), done=True, replace=False)
    store.save(1, annotation("Anna", note="sure"), done=True, replace=False)
    return store.path


def test_labels_are_taken_out_and_compared_and_do_not_overwrite_the_database(labelled, tmp_path):
    done = call("annotations", labelled, "--export", tmp_path / "out.jsonl")
    assert "2 annotations are in" in done.output
    first, second = map(json.loads, (tmp_path / "out.jsonl").read_text().splitlines())
    assert (first["annotator"], second["annotator"]) == ("Anna", "Ben")
    assert first == {
        "id": "a/1",
        "source": "a",
        "row_label": "PASS",
        "annotator": "Anna",
        "label": "PASS",
        "sentences": [{"start": 0, "end": 29, "label": "SUPPORTED"}],
        "note": "sure",
    }
    report = call("agreement", labelled)
    assert report.exit_code == 0
    assert "| Anna and Ben | all | 1 | 1 | 0.00 [0.00, 0.97] | 0.00 |" in report.output
    before = labelled.read_bytes()
    says = "--export and DATABASE are the same file; choose another export."
    assert says in complaint("annotations", labelled, "--export", labelled)
    assert labelled.read_bytes() == before


def test_a_file_that_nobody_can_label_is_refused(tmp_path, file):
    database = tmp_path / "x.sqlite"
    broken = tmp_path / "broken.jsonl"

    def said(text):
        broken.write_text(text)
        return complaint("annotate", broken, "--database", database)

    assert "line 4, source: Field required" in said(file.read_text() + '{"id": "x"}\n')
    assert "line 1, row: Invalid JSON" in said("{")
    assert "holds no rows" in said("\n")
    write_rows(broken, [make_row(), make_row()])
    assert "two rows are called 'made/1'" in complaint("annotate", broken, "--database", database)
    write_rows(broken, [make_row(answer=" ")])
    assert "made/1, answer: holds no text" in complaint("annotate", broken, "--database", database)
    assert not database.exists()


def test_nothing_labelled_yet_and_a_port_in_use_are_told(store, file, tmp_path):
    assert "no annotations yet" in complaint("agreement", store.path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = complaint("annotate", file, "--database", tmp_path / "x.sqlite", "--port", port)
    assert f"127.0.0.1, port {port}: Address already in use; choose another --host or" in said


@pytest.mark.parametrize(("host", "message"), cases(__file__, "no_hosts"))
def test_an_address_that_is_not_this_machines_is_refused(host, message, file, tmp_path):
    said = complaint("annotate", file, "--database", tmp_path / "x.sqlite", "--host", host)
    assert message in said


@pytest.mark.parametrize("package", ["uvicorn", "starlette.applications", "python_multipart"])
def test_a_missing_package_names_the_extra(package, file, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    done = call("annotate", file, "--database", tmp_path / "x.sqlite", "--port", 0)
    assert isinstance(done.exception, MissingExtra)
    assert "pip install 'moonlynx[annotate]'" in str(done.exception)

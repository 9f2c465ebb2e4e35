import re

import pytest

from moonlynx.halubench.annotate.store import Store

LABELS = {"sentence-1": "UNSUPPORTED", "sentence-2": "SUPPORTED", "label": "FAIL"}
RIGHT = {"sentence-1": "SUPPORTED", "sentence-2": "SUPPORTED", "label": "PASS"}
CHECKS = {"perturbation_holds": "yes", "reasoning_right": "no"}
HIDDEN = ("turned about", "1894.", "So the year is wrong", "a/2", "number")


def row(number, what="", annotator="Anna"):
    return f"/annotators/{annotator}/rows/{number}{what}"


def where(response):
    return response.url.path


def test_a_first_visit_from_name_to_done(client, store):
    assert "3 rows to label" in client.get("/").text
    assert where(client.post("/annotators", data={"name": "  Anna  Weiss "})) == row(
        1, annotator="Anna Weiss"
    )
    assert where(client.post(row(1, "/labels"), data=RIGHT)) == row(2)
    checking = client.post(row(2, "/labels"), data=LABELS | {"note": "off\r\nby far "})
    assert where(checking) == row(2)
    assert "Does the change hold" in checking.text
    assert store.done("Anna") == {1}
    assert where(client.post(row(2, "/checks"), data=CHECKS | {"note": "off by far"})) == row(3)
    client.post(row(3, "/labels"), data={"sentence-1": "NO_INFO", "label": "FAIL"})
    done = client.post(row(3, "/checks"), data=CHECKS)
    assert where(done) == "/annotators/Anna"
    assert "All 3 rows are done" in done.text
    first, second, third = store.annotations()
    assert (first.id, first.label, first.row_label, first.perturbation_holds) == (
        *("a/1", "PASS", "PASS"),
        None,
    )
    assert [sentence.label for sentence in second.sentences] == ["UNSUPPORTED", "SUPPORTED"]
    assert [(sentence.start, sentence.end) for sentence in second.sentences] == [(0, 29), (30, 70)]
    assert (second.perturbation_holds, second.reasoning_right) == (True, False)
    assert second.note == "off by far"
    assert third.sentences[0].label == "NO_INFO"


def test_what_the_makers_say_is_shown_only_behind_the_labels(client):
    before = client.get(row(2)).text
    shown = before.replace("built in 1894. It is ninety", "")  # as the document has it
    assert [word for word in HIDDEN if word in shown] == []
    after = client.post(row(2, "/labels"), data=LABELS).text
    assert "<del>1894</del><ins>1849</ins>" in after
    assert "The year was turned about." in after
    assert "So the year is wrong." in after
    another = client.get(row(2, annotator="Ben")).text
    assert another == before.replace("Anna", "Ben").replace("Ben Weiss", "Anna Weiss")


def test_labels_are_mended_only_where_nothing_was_shown(client, store):
    client.post(row(1, "/labels"), data=LABELS)
    again = client.get(row(1)).text
    assert len(re.findall(r'value="(?:UNSUPPORTED|SUPPORTED|FAIL)"[^>]* checked', again)) == 3
    client.post(row(1, "/labels"), data=RIGHT)
    assert store.find("Anna", 1).label == "PASS"
    client.post(row(2, "/labels"), data=LABELS)
    refused = client.post(row(2, "/labels"), data=RIGHT)
    assert refused.status_code == 409
    assert "was labelled before" in refused.text
    assert store.find("Anna", 2).label == "FAIL"
    client.post(row(2, "/checks"), data=CHECKS)
    client.post(row(2, "/checks"), data=CHECKS | {"reasoning_right": "yes"})
    assert store.find("Anna", 2).reasoning_right is True
    assert store.find("Anna", 2).label == "FAIL"


def test_each_annotator_goes_on_where_they_stopped(client, file, store):
    client.post(row(1, "/labels"), data=RIGHT)
    client.post(row(2, "/labels", "Ben"), data=LABELS)
    assert Store(store.path, file).annotators() == {"Anna": 1, "Ben": 0}
    start = client.get("/").text
    assert "Anna</a>, 1 of 3 done" in start
    assert where(client.get("/annotators/Anna")) == row(2)
    assert where(client.get("/annotators/Ben")) == row(1, annotator="Ben")
    # From a row that was passed over, the way leads to those behind it first.
    assert where(client.post(row(2, "/checks", "Ben"), data=CHECKS)) == row(3, annotator="Ben")


def test_checks_need_labels_and_must_be_whole(client, store):
    assert where(client.post(row(2, "/checks"), data=CHECKS)) == row(2)
    assert store.annotations() == []
    client.post(row(2, "/labels"), data=LABELS)
    refused = client.post(row(2, "/checks"), data={"perturbation_holds": "yes"})
    assert refused.status_code == 400
    assert "reasoning_right: choose one of yes, no" in refused.text
    assert store.find("Anna", 2).perturbation_holds is None
    assert store.done("Anna") == set()


def test_texts_are_shown_and_not_obeyed(client):
    pages = [client.get(row(3)).text]
    pages.append(
        client.post(row(3, "/labels"), data={"sentence-1": "NO_INFO", "label": "FAIL"}).text
    )
    for page in pages:
        assert "&lt;script&gt;alert(4)&lt;/script&gt;" in page
        assert "&lt;img src=x onerror=alert(1)&gt;" in page
        assert re.findall(r"<(script|img|b|i|u)\b", page) == ["script"]  # our own
        assert 'onfocus="' not in page
    assert "&lt;/p&gt;&lt;script&gt;alert(2)&lt;/script&gt;" in pages[0]
    assert "<del>&lt;u&gt;was&lt;/u&gt;</del><ins>&lt;script&gt;</ins>alert(2)" in pages[1]
    assert "&lt;b&gt;bold&lt;/b&gt;" in pages[1]
    assert "&lt;i&gt;slanted&lt;/i&gt;" in pages[1]


@pytest.mark.parametrize("name", ["", "   ", "../x", "a/b", "<script>", "x" * 41, "(file)"])
def test_what_is_no_name_is_refused(name, client):
    refused = client.post("/annotators", data={"name": name})
    assert refused.status_code == 400
    assert "name: give 1 to 40 letters" in refused.text


@pytest.mark.parametrize(
    ("form", "message"),
    [
        (RIGHT | {"label": "MAYBE"}, "label: choose one of PASS, FAIL"),
        ({"label": "PASS", "sentence-2": "SUPPORTED"}, "sentence 1: choose one of SUPPORTED,"),
        (RIGHT | {"note": "x" * 10_001}, "note: has 10,001 characters; at most"),
    ],
)
def test_a_form_that_is_not_whole_saves_nothing(form, message, client, store):
    refused = client.post(row(1, "/labels"), data=form)
    assert refused.status_code == 400
    assert message in refused.text
    assert store.annotations() == []


@pytest.mark.parametrize("path", [row(0), row(4), "/nothing", "/static/../app.py", "/static/no.js"])
def test_there_are_no_other_pages(path, client):
    assert client.get(path).status_code == 404


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "http://127.0.0.1:9999", "null", "", "http://[", "x"]
)
def test_forms_of_other_sites_are_refused(origin, client, store):
    refused = client.post(row(1, "/labels"), data=RIGHT, headers={"Origin": origin})
    assert refused.status_code == 403
    assert store.annotations() == []


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8002", "127.0.0.1.evil.example"])
def test_other_names_for_this_machine_are_refused(host, client):
    headers = {"Host": host, "Origin": f"http://{host}"}
    assert client.get("/", headers=headers).status_code == 400
    assert client.post("/annotators", data={"name": "A"}, headers=headers).status_code == 400
    assert client.get("/", headers={"Host": "localhost:8002"}).status_code == 200


def test_every_answer_forbids_what_is_not_ours_and_forms_of_unknown_origin(client, store):
    for path in ("/", row(3), "/nothing", "/static/annotate.js"):
        headers = client.get(path).headers
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
        assert headers["X-Content-Type-Options"] == "nosniff"
    del client.headers["Origin"]
    assert client.post(row(1, "/labels"), data=RIGHT).status_code == 403
    assert store.annotations() == []


def test_a_database_that_cannot_be_written_is_told(client, store):
    client.get("/")
    store.path.write_bytes(b"no database at all, but long enough to be looked at" * 4)
    refused = client.post(row(1, "/labels"), data=RIGHT)
    assert refused.status_code == 500
    assert "Nothing was saved" in refused.text
    assert "labels.sqlite: " in refused.text

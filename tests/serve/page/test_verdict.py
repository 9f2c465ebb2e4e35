from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moonlynx import Example, Verdict, load_judge
from moonlynx.judge.contract.types import JudgeError, JudgeInfo, Stage
from moonlynx.serve.page.verdict import cut, escape, render_verdict

ANSWER = "😀 It was built in 1849. It fell."
DOCUMENTS = ("Built in 1849 <b>by</b> Weiss.", "It stands.")
JUDGE = JudgeInfo(name="a <judge>", version="1")


class Page(HTMLParser):
    """What a browser would make of the page: tags with their attributes and the text inside."""

    def __init__(self, html):
        super().__init__()
        self.open, self.found = [], []
        self.feed(html)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        entry = {"tag": tag, "text": "", **dict(attrs)}
        self.open.append(entry)
        self.found.append(entry)

    def handle_endtag(self, tag):
        assert self.open.pop()["tag"] == tag

    def handle_data(self, data):
        for entry in self.open:
            entry["text"] += data

    def all(self, kind):
        return [e for e in self.found if kind in (e["tag"], *e.get("class", "").split())]


def example(answer=ANSWER):
    return Example(question="When?", context=DOCUMENTS, answer=answer)


def verdict(**fields):
    return Verdict.model_validate({"score": "FAIL", "judge": JUDGE, **fields})


def sentence(start, end, label, *evidence, probability=None):
    keys = ("document", "start", "end", "relation")
    found = [dict(zip(keys, one, strict=True)) for one in evidence]
    return {
        "start": start, "end": end, "label": label, "probability": probability, "evidence": found
    }  # fmt: skip


FOUND = verdict(
    probability=0.976,
    reasoning=["<i>It</i> fell is not said."],
    spans=[{"start": 24, "end": 31, "text": "It fell"}],
    sentences=[
        sentence(0, 23, "SUPPORTED", (0, 0, 13, "support"), (0, 6, 20, "support")),
        sentence(24, 32, "UNSUPPORTED", (1, 0, 10, "conflict"), probability=0.5),
    ],
)


def test_the_whole_verdict_is_shown_and_sentences_lead_to_their_evidence():
    page = Page(render_verdict(FOUND, example(), 12.4))
    assert page.all("mx-score")[0]["text"] == "FAIL"
    assert page.all("mx-probability")[0]["text"].split() == ["P(hallucinated)", "0.98"]
    assert [mark["text"] for mark in page.all("mark")] == ["It fell"]
    assert [one["text"] for one in page.all("mx-sentence")] == [ANSWER[:23], ANSWER[24:]]
    assert [one["text"] for one in page.all("mx-text")] == [ANSWER, *DOCUMENTS]
    assert page.all("ul")[0]["text"] == "<i>It</i> fell is not said."
    assert page.all("footer")[0]["text"] == "a <judge> 1 · 12 ms"
    assert not page.all("b")[1:]  # the probability's, and none of the document's
    page = Page(render_verdict(FOUND, example(), 1))
    first, second = page.all("mx-sentence")
    assert (first["data-sentence"], first["tabindex"]) == ("0", "0")
    assert first["data-said"] == "Sentence 1: supported; evidence in document 1"
    assert second["data-said"] == (
        "Sentence 2: unsupported, P(unsupported) 0.50; a conflict in document 2"
    )
    assert [(one["data-of"], one["text"]) for one in page.all("mx-evidence")] == [
        ("0", "Built "), ("0", "in 1849"), ("0", " <b>by<"), ("1", "It stands.")
    ]  # fmt: skip
    assert [one["text"] for one in page.all("mx-conflict")] == ["It stands."]


def test_an_unscored_verdict_says_why_and_stages_are_named():
    error = JudgeError(code="too_long", message="9 tokens & more")
    page = Page(render_verdict(verdict(score=None, error=error), example(), 1))
    assert page.all("header")[0]["text"] == "UNSCORED too_long: 9 tokens & more"
    assert not page.all("mx-probability")
    stages = (Stage(judge="luna", score=None, decided=False),
              Stage(judge="lynx", score="FAIL", decided=True))  # fmt: skip
    page = Page(render_verdict(verdict(stages=stages), example(), 1))
    assert " · luna unscored, lynx FAIL (decided) · " in page.all("footer")[0]["text"]
    warned = Stage(judge="language", score=None, decided=False, warning="answer: zh; luna reads en")
    page = Page(render_verdict(verdict(stages=(warned,)), example(), 1))
    assert " · language answer: zh; luna reads en · " in page.all("footer")[0]["text"]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"raw_score": -1.5}, ["raw score -1.50; the judge has no calibrated probability"]),
        ({"probability": 0.0, "raw_score": 2.0}, ["P(hallucinated) 0.00 "]),
        ({}, []),
    ],
)
def test_no_probability_is_made_up(fields, said):
    page = Page(render_verdict(verdict(**fields), example(), 1))
    assert [one["text"] for one in page.all("mx-probability")] == said


def test_a_real_verdict_on_an_attack_shows_it_as_text():
    attack = '<script>alert(1)</script> "quoted" ${x} {{y}} was built in 1849. \' onfocus=alert(2)'
    (found,) = load_judge("token-similarity")([example(attack)])
    html = render_verdict(found, example(attack), 1)
    page = Page(html)
    assert page.all("mx-text")[0]["text"] == attack
    assert not page.all("script")
    assert not {"onfocus", "onclick"} & {name for entry in page.found for name in entry}
    assert "${" not in html
    assert "{{" not in html


def test_nothing_of_a_text_is_markup_or_template():
    text = """<b onclick="x('y')">&amp; ${alert(1)} {{value}} `z`"""
    assert escape(text) == (
        "&lt;b onclick=&quot;x(&#x27;y&#x27;)&quot;&gt;&amp;amp; "
        "&#36;&#123;alert(1)&#125; &#123;&#123;value&#125;&#125; &#96;z&#96;"
    )


@pytest.mark.fuzz
@given(
    st.text(),
    st.lists(st.tuples(st.integers(0, 20), st.integers(1, 20)).map(lambda r: (r[0], sum(r)))),
)
def test_the_pieces_are_the_text(text, ranges):
    place = 0
    for piece in cut(text, ranges):
        end = place + len(piece.text)
        assert text[place:end] == piece.text != ""
        held = tuple(i for i, (start, stop) in enumerate(ranges) if start < end and place < stop)
        assert piece.ranges == held
        place = end
    assert place == len(text)

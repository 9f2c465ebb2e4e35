import pytest
from hypothesis import given
from hypothesis import strategies as st

from moonlynx.judge.contract.types import BadInput, Evidence, Example, JudgeInfo, Sentence, Verdict
from moonlynx.judge.index.narrow import BUDGET, expand, narrow
from moonlynx.judge.index.store import load_index, update
from moonlynx.judge.judges.indexed import Indexed
from moonlynx.judge.judges.luna.novelty import new_words
from moonlynx.judge.registry import load_judge
from moonlynx.judge.text import split_sentences, stems_of
from moonlynx.judge.text.flatten import flatten

from ...strategies import texts as any_texts

FILLER = " ".join(
    f"Paragraph {number} is about gardens, kettles and the weather of week {number}."
    for number in range(400)
)
HALF = len(FILLER) // 2 + FILLER[len(FILLER) // 2 :].index("Paragraph")
LONG = f"{FILLER[:HALF]}The old bridge was opened by a miller in 1932. {FILLER[HALF:]}"
TABLE = "name,price\nkettle,30\ntoaster,45\n"
TEXTS = {"long.md": LONG, "prices.csv": TABLE, "blank.md": " "}
ANSWER = "A miller opened the old bridge in 1932."


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("index")
    update(folder, iter(TEXTS.items()))
    return folder


@pytest.fixture(scope="module")
def index(folder):
    return load_index(folder)


def found(index, answer, context="*", **more):
    return narrow(index, Example(answer=answer, context=context, **more))


def test_what_matches_is_kept_of_a_long_document(index):
    kept = found(index, ANSWER)
    (text, *_) = kept.example.context
    assert "The old bridge was opened by a miller in 1932." in text
    assert sum(map(len, kept.example.context)) < 8 * BUDGET


def test_the_question_leads_to_the_passage_of_a_bare_answer(index):
    kept = found(index, "1932", question="When was the old bridge opened?")
    assert "miller" in kept.example.context[0]


def test_evidence_is_in_the_documents_themselves(index):
    kept = found(index, f"{ANSWER} The toaster costs 45.")
    for (number, _), text in zip(kept.documents, kept.example.context, strict=True):
        document = [*TEXTS.values()][number]
        pieces = split_sentences(text)
        for place, one in enumerate(pieces):
            evidence = Evidence(
                document=[n for n, _ in kept.documents].index(number),
                start=one.start,
                end=one.end,
                relation="support",
            )
            sentence = Sentence(start=0, end=1, label="SUPPORTED", evidence=(evidence,))
            verdict = Verdict(
                score="PASS", judge=JudgeInfo(name="j", version="1"), sentences=(sentence,)
            )
            (moved,) = kept.restore(verdict).sentences[0].evidence
            assert moved.document == number
            said = document[moved.start : moved.end]
            if number == 0:
                assert said == one.text, place
            else:
                assert one.text in [line.text for line in flatten(TABLE)]
                assert said in TABLE.splitlines()


def test_named_documents_keep_their_places_and_texts_are_read_whole(index):
    kept = found(index, "The toaster costs 45.", ["blank.md", "prices.csv", "A text of its own."])
    assert [number for number, _ in kept.documents] == [0, 1, 2]
    assert kept.example.context[0] == ""
    assert "45" in kept.example.context[1]
    assert kept.example.context[2] == "A text of its own."
    own = Example(answer="a b", context=["Only texts.", "Another, see notes.md"])
    assert narrow(index, own).example == own


@pytest.mark.parametrize(
    ("context", "code", "message"),
    [
        ("lang.md", "bad_input", r"no document lang\.md; did you mean long\.md\?"),
        ("\x1b.csv", "bad_input", r"no document \\x1b\.csv; it has 3 others"),
        ("blank.md", "empty_context", "hold no text"),
    ],
)
def test_a_wrong_name_is_an_error_of_its_row(index, context, code, message):
    with pytest.raises(BadInput, match=message) as error:
        found(index, "The bridge is old.", context)
    assert (error.value.code, error.value.field) == (code, "context")


def test_a_judge_over_an_index_reads_by_name_and_says_so(folder, index):
    judge = load_judge(f"luna:mini?index={folder}")
    assert isinstance(judge, Indexed)
    assert judge.info.version.endswith(f"+index-{index.version}")
    rows = [
        Example(id=1, answer=ANSWER, context="*"),
        Example(id=2, answer=ANSWER, context="lang.md"),
        Example(id=3, answer="The old bridge was opened in 1950.", context="long.md"),
    ]
    verdicts = judge(rows)
    assert [(one.id, one.score) for one in verdicts] == [(1, "PASS"), (2, None), (3, "FAIL")]
    assert {one.judge for one in verdicts} == {judge.info}
    (evidence,) = verdicts[0].sentences[0].evidence
    text = judge.expand(rows[0]).context[evidence.document][evidence.start : evidence.end]
    assert text == "The old bridge was opened by a miller in 1932."
    assert [judge([row])[0] for row in rows] == verdicts


def test_rules_and_cascades_take_an_index(folder):
    judge = load_judge(f"token-similarity?rules=on&index={folder}")
    (verdict,) = judge([Example(answer="The old bridge was opened in 1950.", context="*")])
    assert (verdict.stages[0].judge, verdict.stages[0].score) == ("rules", "FAIL")


@pytest.mark.fuzz
@given(st.lists(any_texts, min_size=1, max_size=3), any_texts, any_texts)
def test_a_word_is_new_to_what_is_kept_only_if_it_is_new_to_the_documents(
    tmp_path_factory, texts, question, answer
):
    folder = tmp_path_factory.mktemp("index")
    texts = [f"{text} Some words." for text in texts]
    answer = f"{answer} More words."
    update(folder, ((f"{number}", text) for number, text in enumerate(texts)))
    index = load_index(folder)
    kept = narrow(index, Example(question=question, answer=answer, context="*"))
    everything = {stem for document in texts for stem in index.alignment.places}
    held = set(stems_of("\n\n".join(kept.example.context)))
    for sentence in split_sentences(answer):
        new = new_words(sentence.text, held)
        assert {one for one in new if one not in new_words(sentence.text, everything)} == set()


def test_expanding_needs_no_index_of_the_texts_themselves(index):
    example = Example(answer="a", context=["prices.csv", "A text."])
    assert expand(index, example).context == (TABLE, "A text.")

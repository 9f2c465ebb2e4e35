import csv
import json

import pytest

from moonlynx.judge.contract.types import MetricInput
from moonlynx.judge.judges.luna.weights import open_weights
from moonlynx.judge.metrics.adapter import HeadError
from moonlynx.judge.metrics.encoder import EMBEDDED
from moonlynx.judge.metrics.encoder.features import FeatureReader
from moonlynx.judge.metrics.encoder.head import NAMES, NameScorer, open_head, save_heads
from moonlynx.judge.metrics.encoder.metric import EncoderMetric
from moonlynx.judge.metrics.encoder.pii import PiiMetric, find_runs
from moonlynx.judge.metrics.encoder.states import StateEncoder
from moonlynx.recipes.luna2.names import fit_names, read_boxes, read_presidio

FIRST, LAST = ("Ada", "Boris", "Clara", "Dmitri"), ("Winter", "Lang", "Okafor", "Silva")
TOWNS = ("Oslo", "Lima", "Turin", "Accra")
FIRMS = ("Northwind Ltd", "Acme Labs", "Globex Bank", "Initech Group")
SENTENCES = {
    "PERSON": "Yesterday my friend {} told me that she was ill.",
    "GPE": "We flew from the coast to {} and stayed a week.",
    "ORGANIZATION": "He has worked as an engineer for {} since spring.",
    "NRP": "She likes old {} songs and dances.",
}
BOXES = {
    "T1": {"title": ["Ada Lovell"], "Born": ["Oslo, Norway"], "Nationality": ["Danish"]},
    "T2": {"title": ["Globex Bank"], "Headquarters": ["Lima"], "Founded": ["1902"]},
    "T3": {"title": ["Silent River"], "Directed by": ["Boris Lang"], "Genre": ["Western"]},
}
HYPOTHESES = {
    "T1": "Lovell was born in Oslo, and the Danish Crown paid for Ada Lovell's school.",
    "T2": "The Globex Bank has its seat in Lima.",
    "T3": "Silent River was made by Boris Lang.",
}


@pytest.fixture
def data(tmp_path):
    """Write both sets in their own forms: names in templates, and info boxes with hypotheses."""
    rows = []
    for number in range(160):
        kind = tuple(SENTENCES)[number % 4]
        name = {
            "PERSON": f"{FIRST[number // 4 % 4]} {LAST[number // 16 % 4]}",
            "GPE": TOWNS[number // 4 % 4],
            "ORGANIZATION": FIRMS[number // 4 % 4],
            "NRP": "Italian",
        }[kind]
        lead = f"In case {number} " + "it so happened that " * (number % 3)
        text = f"{lead}{SENTENCES[kind].format(name)}"
        start = text.index(name)
        span = {"entity_type": kind, "start_position": start, "end_position": start + len(name)}
        masked = f"{chr(97 + number % 26)}{chr(97 + number // 26)} {SENTENCES[kind]}"
        rows.append({"full_text": text, "masked": masked, "spans": [span]})
    folder = tmp_path / "pii_presidio"
    folder.mkdir()
    for name, some in (("synth_dataset_v2", rows[::2]), ("generated_large", rows[1::2])):
        (folder / f"{name}.json").write_text(json.dumps(some))
    folder = tmp_path / "infotabs"
    folder.mkdir()
    (folder / "tables.json").write_text(json.dumps(BOXES))
    for name in ("train", "dev"):
        with (folder / f"infotabs_{name}.tsv").open("w", newline="") as file:
            writer = csv.writer(file, delimiter="\t", quoting=csv.QUOTE_NONE)
            writer.writerow(["annotater_id", "table_id", "hypothesis", "label"])
            writer.writerows(["A", number, text, "E"] for number, text in HYPOTHESES.items())
    return tmp_path


def test_runs_of_capitalised_words_are_found_without_stop_words_and_full_stops():
    text = "I met Maria de la Cruz and The New Bakery of Turin. My O'Brien."
    assert [text[slice(*run)] for run in find_runs(text)] == [
        "Maria",
        "Cruz",
        "The New Bakery of Turin",
        "My O'Brien",
    ]


def test_a_box_says_what_its_hypotheses_name(data):
    read = [row for row in read_boxes(data) if row.side == "train"]
    named = [
        {row.sentence[slice(*run)]: kind for run, kind in zip(row.runs, row.kinds, strict=True)}
        for row in read
    ]
    # "Danish Crown" is nothing that the box knows.
    assert named == [
        {"Lovell": 1, "Oslo": 2, "Ada Lovell's": 1},
        {"The Globex Bank": 3, "Lima": 2},
        {"Silent River": 0, "Boris Lang": 1},
    ]
    assert {row.side for row in read_boxes(data)} == {"train", "validation"}


def test_spans_say_what_is_named_and_other_capitals_name_nothing(data):
    rows = list(read_presidio(data))
    assert {row.side for row in rows} == {"train", "validation", "test"}
    kinds = {kind: 0 for row in rows for kind in row.kinds}
    assert sorted(kinds) == [0, 1, 2, 3]
    for row in rows:
        for run, kind in zip(row.runs, row.kinds, strict=True):
            said = row.sentence[slice(*run)]
            assert (kind == 2) == (said in TOWNS)
            assert (kind == 3) == (said in FIRMS)


@pytest.mark.heavy
def test_the_tagger_learns_its_rows_and_judges_as_it_was_fitted(data, tmp_path):
    weights, head = open_weights(None, None), open_head(EMBEDDED, "pii")
    reader = FeatureReader(StateEncoder(weights.path, head.layers), weights.tokenizer)
    names = fit_names(reader, data)
    tag, right, total = NameScorer(names, "pii"), 0, 0
    for row in read_presidio(data):
        if row.side == "test":
            there, numbers, _ = reader.read_runs(row.sentence, row.runs)
            kinds = dict(zip(row.runs, row.kinds, strict=True))
            right += sum(p.argmax() == kinds[r] for r, p in zip(there, tag(numbers), strict=True))
            total += len(there)
    assert right >= 0.9 * total > 0
    save_heads([head.model_copy(update={"names": names})], tmp_path / "heads")
    pii = PiiMetric(EncoderMetric("pii", tmp_path / "heads"))
    (verdict,) = pii([MetricInput(input="", output="We flew from the coast to Oslo yesterday.")])
    assert [(span.label, span.text) for span in verdict.spans] == [("location", "Oslo")]
    (span,) = verdict.spans
    assert verdict.labels["location"] == span.probability > 0.5


@pytest.mark.heavy
def test_a_name_far_into_a_sentence_without_an_end_is_found_and_a_head_without_names_refused(
    tmp_path,
):
    pii = PiiMetric(EncoderMetric("pii"))
    text = "and so it went on " * 120 + "until Maria Kowalski moved to Berlin with her sister"
    (verdict,) = pii([MetricInput(input=text, output="x")])
    assert [(span.label, span.text) for span in verdict.spans] == [
        ("person", "Maria Kowalski"),
        ("location", "Berlin"),
    ]
    assert set(NAMES) <= verdict.labels.keys()
    head = open_head(EMBEDDED, "pii").model_copy(update={"names": None})
    save_heads([head], tmp_path)
    with pytest.raises(HeadError, match="has no names; fit it anew: moonlynx train luna2-heads"):
        PiiMetric(EncoderMetric("pii", tmp_path))


@pytest.mark.heavy
def test_what_has_a_format_is_no_address_beside_it():
    pii = PiiMetric(EncoderMetric("pii"))
    texts = ("Ask at desk.lena@example.net about it.", "It goes to NL91 ABNA 0417 1643 00 today.")
    verdicts = pii([MetricInput(input=text, output="x") for text in texts])
    for text, verdict, label in zip(texts, verdicts, ("email", "bank_account"), strict=True):
        assert {name for name, p in verdict.labels.items() if p >= pii.thresholds[name]} == {label}
        (span,) = verdict.spans
        assert text[span.start : span.end] == span.text

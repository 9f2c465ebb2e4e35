from pathlib import Path

import pytest

from moonlynx import Example
from moonlynx.judge.judges.luna.weights import MINI
from moonlynx.judge.judges.raghalu.tier_one import EncoderTier, as_pair
from moonlynx.judge.registry import load_judge
from moonlynx.recipes import raghalu
from moonlynx.recipes.data.mixes import Mix
from moonlynx.recipes.luna.settings import Run
from moonlynx.recipes.luna.stage_items import stage_items
from moonlynx.recipes.raghalu.__main__ import app
from moonlynx.recipes.raghalu.brand import BrandSentence, rows_of
from moonlynx.recipes.raghalu.public import read_dolly, read_truthful_qa
from moonlynx.recipes.runs import read_run

from ...cases import write_lines
from ...command import succeed
from ..luna.test_stage_items import reader  # noqa: F401 - a fixture

FOLDER = Path(raghalu.__file__).parent
CONTEXT = "The bridge was opened in 1894. Its arches are made of granite."
SENTENCES = [
    BrandSentence(sentence="It was opened in 1894.", label="SUPPORTED", context=CONTEXT),
    BrandSentence(sentence="It is made of tin.", label="UNSUPPORTED", context=CONTEXT),
    BrandSentence(sentence="Shall we begin?", label="NO_INFO", context=CONTEXT),
]


@pytest.mark.parametrize("tier", [1, 2])
def test_sentences_are_the_rows_of_a_stage(tier, reader, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.chdir(tmp_path)
    write_lines(tmp_path / "sentences.jsonl", *SENTENCES)
    run = read_run(FOLDER / f"tier{tier}-deberta-v3-large.yaml", Run)
    for name, stage in run.stages.items():
        (file,) = stage.labelled
        assert file == f"raghalu/{name}-{tier}.jsonl"
        Path(file).parent.mkdir(exist_ok=True)
        said = succeed("rows", "sentences.jsonl", "--tier", tier, "--output", file, app=app)
        assert f"{3 - (tier == 2)} rows are in {file}" in said
        items = stage_items(stage, Mix(run.mix), tmp_path, reader, 0)
        wrong = {1: "NO_INFO", 2: "UNSUPPORTED"}[tier]
        assert {item.source for item in items if not item.supported} == {wrong}
        assert {item.source for item in items} == {one.label for one in SENTENCES[: 4 - tier]}
    assert list(run.stages) == ["open", "brand"]


def test_an_encoder_may_be_the_first_tier():
    silent = next(one for one in rows_of(SENTENCES, 1) if one.label == "FAIL")
    assert as_pair("Shall we begin?").context == silent.context
    tier = EncoderTier(load_judge("luna:mini?threshold=0"))  # whatever it reads claims nothing
    assert tier.claims_nothing("It was opened in 1894.")
    assert tier.claims_nothing("…")
    assert not EncoderTier(load_judge("luna:mini?threshold=1")).claims_nothing("It is tin.")
    judge = load_judge(f"raghalu?tier1={MINI}")
    assert judge.info.version.startswith(load_judge("raghalu").info.version)
    (verdict,) = judge([Example(context=(CONTEXT,), answer="It was opened in 1894.")])
    assert verdict.error is None


CARD = """---
configs:
- config_name: generation
  data_files:
  - split: validation
    path: v.jsonl
---
"""


@pytest.mark.heavy
def test_dolly_and_truthful_qa_are_read_from_copies(tmp_path, monkeypatch):
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.chdir(tmp_path)
    rest = "The arches of the church are made of granite."
    context = f"The bridge was opened in 1894. {rest}"
    closed = {"instruction": "When?", "context": context, "category": "closed_qa"}
    rows = [
        closed | {"response": "The bridge was opened in 1894."},
        closed | {"response": "The bridge was opened in 1894.", "category": "open_qa"},
        closed | {"response": "The bridge was opened in 1894.", "context": ""},
    ]
    write_lines(tmp_path / "databricks/databricks-dolly-15k/train.jsonl", *rows)
    right, wrong = read_dolly()
    assert (right.label, wrong.label, wrong.question) == ("SUPPORTED", "UNSUPPORTED", "When?")
    assert right.sentence == wrong.sentence == "The bridge was opened in 1894."
    assert (right.context, wrong.context) == ((context,), (rest,))

    asked = {"question": "What is it made of?", "source": "https://example.org/bridge"}
    answers = {"correct_answers": ["Granite."], "incorrect_answers": ["Tin.", "Wood."]}
    copy = tmp_path / "truthfulqa/truthful_qa"
    write_lines(copy / "v.jsonl", asked | answers, asked | answers | {"source": "elsewhere"})
    (copy / "README.md").write_text(CARD)
    write_lines(tmp_path / "articles.jsonl", {"source": asked["source"], "text": CONTEXT})
    found = list(read_truthful_qa(tmp_path / "articles.jsonl"))
    assert [(one.sentence, one.label) for one in found] == [
        ("Granite.", "SUPPORTED"),
        ("Tin.", "UNSUPPORTED"),
        ("Wood.", "UNSUPPORTED"),
    ]
    assert {one.context for one in found} == {(CONTEXT,)}

import json
import shutil

import numpy as np
import pytest

from moonlynx.judge.backends.encoder import load_encoder
from moonlynx.judge.contract.types import Example
from moonlynx.judge.files.stored import MANIFEST
from moonlynx.judge.judges.luna.aggregate import SupportModel
from moonlynx.judge.judges.luna.weights import CALIBRATION, open_weights
from moonlynx.judge.judges.raghalu.checkable import terms
from moonlynx.judge.judges.raghalu.judge import RagHaluJudge, conversation_form
from moonlynx.judge.judges.raghalu.weights import (
    EMBEDDED,
    HEADS,
    RagHaluError,
    open_heads,
    save_heads,
    write_manifest,
)
from moonlynx.judge.registry import load_judge
from moonlynx.recipes.raghalu.families import load_families, of_split

from ...cases import cases

MOST_MB = 1
CONTEXT = "The bridge is 90 m long. It was opened in 1932."


@pytest.fixture(scope="module")
def judge():
    return load_judge("raghalu")


@pytest.fixture(scope="module")
def model():
    return open_heads(EMBEDDED).heads.checkable


def judged(judge, answer, **fields):
    (verdict,) = judge([Example.from_row({"context": CONTEXT, "answer": answer, **fields})])
    return verdict


def labels(verdict):
    return [sentence.label for sentence in verdict.sentences]


def test_the_folder_is_small_whole_and_what_is_missing_named(tmp_path):
    files = json.loads((EMBEDDED / MANIFEST).read_text())["files"]
    assert {path.name for path in EMBEDDED.iterdir()} == {*files, MANIFEST}
    assert sum(path.stat().st_size for path in EMBEDDED.iterdir()) < MOST_MB * 1e6
    with pytest.raises(RagHaluError, match="is no folder"):
        load_judge(f"raghalu:{tmp_path / 'nosuch'}")
    folder = copied(tmp_path)
    (folder / HEADS).write_text((folder / HEADS).read_text().replace("0.1", "0.2", 1))
    with pytest.raises(RagHaluError, match=r"raghalu\.json has the SHA-256 \w+, its manifest says"):
        load_judge(f"raghalu:{folder}")


def test_each_sentence_has_its_label(judge):
    answer = "Sure, I can help with that! It was opened in 1932. I hope this helps!"
    wrong = judged(judge, "Good question! It was opened in 1932. It was built by Roman slaves.")
    assert (wrong.score, labels(wrong)) == ("FAIL", ["NO_INFO", "SUPPORTED", "UNSUPPORTED"])
    assert wrong.spans
    assert wrong.raw_score == wrong.sentences[2].raw_score
    verdict = judged(judge, answer, question="When was it opened?")
    assert labels(verdict) == ["NO_INFO", "SUPPORTED", "NO_INFO"]
    assert verdict.score == "PASS"
    assert [answer[s.start : s.end] for s in verdict.sentences][1] == "It was opened in 1932."
    assert verdict.sentences[0].raw_score is None
    assert "makes no claim" in verdict.reasoning[0]


def test_the_conversation_is_three_turns_and_is_read(judge):
    turns = [
        {"role": "user", "content": "Hi."},
        {"role": "assistant", "content": "Hello!"},
        {"role": "user", "content": "A loan."},
        {"role": "assistant", "content": "Which kind?"},
    ]
    row = {"context": CONTEXT, "answer": "Yes.", "question": "An auto loan.", "conversation": turns}
    expected = "USER: A loan.\nASSISTANT: Which kind?\nUSER: An auto loan."
    assert conversation_form(Example.from_row(row)) == expected
    assert conversation_form(Example.from_row(row | {"conversation": []})) == "An auto loan."
    assert conversation_form(Example.from_row(row | {"question": ""})).endswith("Which kind?")
    turns = [{"role": "user", "content": "The bridge."}, {"role": "assistant", "content": "Yes?"}]
    alone = judged(judge, "It was opened in 1932.", question="When was it opened?")
    row = {"question": "When was it opened?", "conversation": turns}
    assert judged(judge, "It was opened in 1932.", **row).usage.input_tokens > (
        alone.usage.input_tokens
    )


def test_tier_one_holds_on_families_that_it_never_saw(model):
    from sklearn.metrics import f1_score

    for split in ("validation", "test"):
        sentences = of_split(load_families(), split)
        called = np.array([model.claims_nothing(sentence.text) for sentence in sentences])
        silent = np.array([not sentence.verifiable for sentence in sentences])
        assert f1_score(silent, called) > 0.8
        assert f1_score(~silent, ~called) > 0.85


@pytest.mark.parametrize(("sentence", "silent"), cases(__file__, "plain_sentences"))
def test_plain_sentences(sentence, silent, model):
    assert model.claims_nothing(sentence) is silent


def test_terms_fold_case_and_numbers():
    assert terms("It costs 30.") == terms("IT costs 4000.")
    assert {"it", "costs", "0", "^ it", ". $", "#_it"} <= set(terms("It costs 30."))
    assert terms("Don’t") == terms("don't")


@pytest.fixture(scope="module")
def parts():
    folder = open_weights(None, None)
    return load_encoder(folder.path, None), folder.tokenizer, folder.config


def test_tier_two_that_is_fitted_changes_the_scores(parts):
    heads = open_heads(EMBEDDED).heads
    strict = heads.model_copy(update={"support": SupportModel(bias=-30.0)})
    answer = "It was opened in 1932."
    assert judged(RagHaluJudge(*parts, heads, 0.99), answer).score == "PASS"
    verdict = judged(RagHaluJudge(*parts, strict, 0.99), answer)
    assert verdict.score == "FAIL"
    assert verdict.raw_score == 1.0


def copied(tmp_path):
    return shutil.copytree(EMBEDDED, tmp_path / "raghalu")


@pytest.mark.parametrize(("fields", "luna"), [({}, "luna:mini"), ({"luna": None}, "luna")])
def test_weights_are_read_by_the_encoder_that_they_were_fitted_to(tmp_path, fields, luna):
    folder = copied(tmp_path)
    written = json.loads((folder / HEADS).read_text())
    written.pop("luna", None)  # as until 0.11
    (folder / HEADS).write_text(json.dumps(written | fields))
    write_manifest(folder)
    version = load_judge(f"raghalu:{folder}").info.version
    encoder = load_judge(luna).info.version.rpartition("-")[2]
    assert version.endswith(encoder)
    assert load_judge(f"raghalu:{folder}?luna=mini").info.version.startswith(version[:14])


def test_a_calibration_of_other_weights_gives_no_probability(tmp_path):
    folder = copied(tmp_path)
    heads = open_heads(folder).heads
    save_heads(heads.model_copy(update={"version": "other"}), folder)
    judge = load_judge(f"raghalu:{folder}")
    assert judge.info.version.startswith("other-")
    assert judged(judge, "It was opened in 1932.").probability is None
    assert (folder / CALIBRATION).exists() == (EMBEDDED / CALIBRATION).exists()

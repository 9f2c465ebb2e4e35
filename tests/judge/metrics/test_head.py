import math

import pytest

from moonlynx.judge.files.stored import save_record
from moonlynx.judge.metrics.adapter import (
    HEAD,
    Backbone,
    Head,
    HeadError,
    Scaling,
    fingerprint,
    load_head_file,
    probabilities,
)
from moonlynx.judge.metrics.definition import load_definition
from moonlynx.judge.metrics.preflight import TokenMap

TRUE_FALSE = TokenMap(written={"true": "true", "false": "false"}, ids={"true": 7, "false": 3})


def test_probabilities_are_a_softmax_over_the_class_tokens_alone_and_labels_stand_apart():
    toxicity = load_definition("toxicity")
    # exp(-1) and exp(-3) of the whole vocabulary: among themselves 1 / (1 + exp(-2)).
    found = probabilities(toxicity, TRUE_FALSE, Scaling(), [(-1.0, -3.0)])
    assert found["true"] == pytest.approx(1 / (1 + math.exp(-2)))
    assert sum(found.values()) == pytest.approx(1)
    scaled = probabilities(
        toxicity, TRUE_FALSE, Scaling(temperature=2.0, bias={"false": 1.0}), [(-1.0, -3.0)]
    )
    assert scaled["true"] == pytest.approx(0.5)
    pii = load_definition("pii")
    first, *others = pii.classes
    at = [(-9999.0, -0.5), *[(-0.5, -0.5)] * len(others)]
    found = probabilities(pii, TRUE_FALSE, Scaling(bias={others[0]: math.log(3)}), at)
    assert list(found) == list(pii.classes)
    assert found[first] == 0.0
    assert found[others[0]] == pytest.approx(0.75)
    assert found[others[1]] == pytest.approx(0.5)


def head():
    return Head(
        definition=load_definition("toxicity"),
        tokens=TRUE_FALSE,
        scaling=Scaling(temperature=1.5, bias={"true": 0.25}),
        thresholds={"true": 0.4},
        backbone=Backbone(name="somebody/small", sha256="0" * 64),
        version="abc",
    )


def test_a_head_is_read_as_it_was_written_and_a_folder_without_one_is_refused(tmp_path):
    with pytest.raises(HeadError, match=r"cannot read .*luna2\.json: No such file"):
        load_head_file(tmp_path)
    text = head().model_dump_json().replace('"temperature":1.5', '"temperature":-1')
    (tmp_path / "luna2.json").write_text(text)
    with pytest.raises(HeadError, match=r"scaling\.temperature"):
        load_head_file(tmp_path)
    save_record(head(), tmp_path / HEAD)
    first = (tmp_path / "luna2.json").read_bytes()
    assert load_head_file(tmp_path) == head()
    save_record(load_head_file(tmp_path), tmp_path / HEAD)
    assert (tmp_path / "luna2.json").read_bytes() == first


def test_a_fingerprint_tells_models_apart(tmp_path):
    with pytest.raises(HeadError, match="holds no model"):
        fingerprint(tmp_path)
    (tmp_path / "config.json").write_text("{}")
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(b"a" * (3 << 20))
    found = fingerprint(tmp_path)
    assert fingerprint(tmp_path) == found
    weights.write_bytes(b"a" * ((3 << 20) - 1) + b"b")
    assert fingerprint(tmp_path) != found
    file = tmp_path / "model.gguf"
    file.write_bytes(b"a" * 9)
    assert fingerprint(file) == fingerprint(file.rename(tmp_path / "other.gguf")) != found

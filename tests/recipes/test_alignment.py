import numpy as np
import pytest
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from moonlynx.judge.types import Example
from moonlynx.recipes.luna.alignment import FEATURES, as_read, claim_features, features
from moonlynx.recipes.luna.floor import (
    Logistic,
    NotAnAlignmentModel,
    best_f1,
    fit,
    fit_trees,
)
from moonlynx.recipes.luna.frozen import FrozenEncoder

ARTICLE = (
    "The bridge over the Aare was opened in 1894. It carried two tracks until the canton "
    "had it widened. Trains of the regional line cross it every 12 minutes."
)
COPIED = "The bridge over the Aare was opened in 1894. Trains cross it every 12 minutes."
CHANGED = "The bridge over the Rhine was opened in 1921. Ferries cross it every 40 minutes."


def build_encoder(folder):
    """Give an encoder of random weights, two layers deep, that knows letters and a few words."""
    import torch
    from transformers import BertConfig, BertModel

    base = folder / "base"
    letters = "abcdefghijklmnopqrstuvwxyz0123456789.,:;-'\"{}[]"
    words = ["the", "bridge", "trains", "cross", "minutes", "opened", "tracks"]
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *letters, *words]
    vocabulary += [f"##{letter}" for letter in letters]
    model = models.WordPiece({token: i for i, token in enumerate(vocabulary)}, unk_token="[UNK]")
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=96,
    )
    BertModel(config).save_pretrained(base)
    tokenizer.save(str(base / "tokenizer.json"))
    return FrozenEncoder(base, folder / "states")


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    return build_encoder(tmp_path_factory.mktemp("alignment"))


def named(row):
    return dict(zip(FEATURES, row, strict=True))


def example(answer, context=ARTICLE):
    return Example(context=context, answer=answer)


@pytest.mark.heavy
def test_states_are_of_unit_length_and_follow_the_tokens(encoder):
    text = encoder(COPIED)
    assert text.states.shape == (len(text.ids), 48)
    assert len(text.offsets) == len(text.ids)
    assert np.linalg.norm(text.states, axis=1) == pytest.approx(1, abs=1e-3)
    assert COPIED[slice(*text.offsets[1])] == "bridge"


@pytest.mark.heavy
def test_a_text_is_encoded_once(encoder):
    path = encoder._path(COPIED)
    encoder.read([COPIED, COPIED])
    written = path.stat().st_mtime_ns
    encoder.read([COPIED])
    assert path.stat().st_mtime_ns == written
    assert not list(path.parent.glob("*.part"))


@pytest.mark.heavy
def test_states_hardly_depend_on_what_is_encoded_beside(encoder, tmp_path):
    alone = encoder(CHANGED).states
    encoder._path(CHANGED).unlink()
    encoder.read([CHANGED, "Short.", ARTICLE * 5])
    assert encoder(CHANGED).states == pytest.approx(alone, abs=0.03)  # bfloat16


@pytest.mark.heavy
def test_a_long_text_is_read_whole(encoder):
    text = encoder(f"{ARTICLE} [SEP]" * 40)
    assert len(text.ids) > 1_000
    assert np.isfinite(text.states).all()
    assert 3 not in text.ids  # [SEP]
    assert len(encoder(" ").ids) == 0


@pytest.mark.heavy
def test_a_changed_answer_matches_less_than_a_copied_one(encoder):
    copied, changed = map(named, features([example(COPIED), example(CHANGED)], encoder))
    assert copied["least: words found"] == 1
    assert copied["most: numbers missing"] == copied["most: names missing"] == 0
    assert changed["most: numbers missing"] == 1
    assert changed["most: names missing"] == 1  # the Rhine; "Ferries" begins its sentence
    for less in ("mean: words found", "mean: words in one line", "mean: pairs found"):
        assert changed[less] < copied[less]
    assert changed["answer: mean cosine"] < copied["answer: mean cosine"]
    assert changed["answer: matches of the same token"] < 1
    assert copied["log sentences"] == pytest.approx(np.log(2))


@pytest.mark.heavy
def test_features_do_not_depend_on_the_other_rows(encoder):
    rows = [example(COPIED), example(CHANGED, "Ferries cross the Rhine."), example(CHANGED)]
    together = features(rows, encoder)
    assert together == pytest.approx(np.concatenate([features([row], encoder) for row in rows]))


@pytest.mark.heavy
def test_claims_are_measured_one_by_one(encoder):
    half = "The bridge over the Aare was opened in 1894. Ferries cross the Rhine in 1921."
    first, second = claim_features(example(half), encoder)
    assert first[0] == 1
    assert second[0] < 0.5
    assert (first[3], second[3]) == (0, 1)


@pytest.mark.heavy
def test_records_are_read_as_lines(encoder):
    record = '{"name": "Trout Inn", "hours": {"Monday": "9:00-17:00"}}'
    assert "Monday" in as_read(record)
    assert "{" not in as_read(record)
    row = named(features([example("The Trout Inn opens on Monday.", record)], encoder)[0])
    assert row["most: names missing"] == 0


@pytest.mark.heavy
@pytest.mark.parametrize("answer", ["It is.", "…", "🙂", "是的。", "\u200b", "- \n-"])
def test_answers_with_nothing_to_look_for_have_finite_features(encoder, answer):
    assert np.isfinite(features([example(answer), example(answer, "\u200b")], encoder)).all()


def made_table(rows=240):
    rng = np.random.default_rng(0)
    fail = rng.random(rows) < 0.4
    table = rng.normal(size=(rows, len(FEATURES)))
    table[:, 3] = 5 + 2 * (table[:, 3] + 1.5 * fail)
    return table, fail, [f"group {index // 3}" for index in range(rows)]


def test_the_regression_finds_what_tells(tmp_path):
    table, fail, groups = made_table()
    model = fit(table, fail, groups)
    assert np.abs(model.weights).argmax() == 3
    probability = model.probability(table)
    assert probability[fail].mean() > probability[~fail].mean() + 0.2
    assert 0 < model.threshold < 1
    model.save(tmp_path / "floor.json")
    loaded = Logistic.load(tmp_path / "floor.json")
    assert (loaded.probability(table) == probability).all()
    assert loaded.threshold == model.threshold


@pytest.mark.heavy
def test_the_trees_find_it_too():
    table, fail, groups = made_table()
    model = fit_trees(table, fail, groups)
    probability = model.probability(table)
    assert probability[fail].mean() > probability[~fail].mean() + 0.2
    assert 0 < model.threshold < 1


def test_weights_for_other_features_are_refused(tmp_path):
    path = tmp_path / "floor.json"
    path.write_text('{"features": {"length": {"mean": 0, "scale": 1, "weight": 1}}}')
    with pytest.raises(NotAnAlignmentModel, match=r"floor\.json"):
        Logistic.load(path)


def test_best_f1_is_that_of_trying_every_threshold():
    from sklearn.metrics import f1_score

    rng = np.random.default_rng(1)
    for rows in (2, 9, 60):
        fail = rng.random(rows) < 0.4
        fail[0] = True
        probability = np.round(rng.random(rows), 1)
        tried = {t: f1_score(fail, probability >= t) for t in probability.tolist()}
        best = best_f1(fail, probability)
        assert best.f1 == pytest.approx(max(tried.values()))
        assert tried[best.threshold] == pytest.approx(best.f1)

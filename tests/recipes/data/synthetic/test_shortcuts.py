"""A claim's own words must not tell whether the record supports it."""

import pytest

from moonlynx.recipes.data.synthetic import generate

pytestmark = pytest.mark.heavy  # ten thousand answers and a classifier over their words

LIMIT = 0.58


@pytest.fixture(scope="module")
def claims():
    """Return the texts and labels of claims for fitting, and of others for testing."""
    pytest.importorskip("sklearn")
    parts = []
    for seed in (21, 22):
        made = [(a, s) for a in generate(5000, seed) for s in a.sentences]
        texts = [answer.answer[s.start : s.end] for answer, s in made]
        parts.append((texts, [not s.supported for _, s in made]))
    return parts


def auroc(steps, claims):
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    from sklearn.pipeline import make_pipeline

    (texts, labels), (held_out, truth) = claims
    model = make_pipeline(*steps, LogisticRegression(C=0.05, max_iter=500))
    return roc_auc_score(truth, model.fit(texts, labels).decision_function(held_out))


def measures(texts):
    return [[len(t), len(t.split()), sum(c.isdigit() for c in t), t.count(",")] for t in texts]


def test_length_tells_nothing(claims):
    from sklearn.preprocessing import FunctionTransformer, StandardScaler

    assert 1 - LIMIT < auroc([FunctionTransformer(measures), StandardScaler()], claims) < LIMIT


def test_words_tell_next_to_nothing(claims):
    from sklearn.feature_extraction.text import CountVectorizer

    words = CountVectorizer(token_pattern=r"\w+|[^\w\s]", min_df=3, binary=True)
    assert 1 - LIMIT < auroc([words], claims) < LIMIT


def test_the_classifier_would_find_a_cue(claims):
    from sklearn.feature_extraction.text import CountVectorizer

    planted = [
        ([f"indeed {t}" if wrong else t for t, wrong in zip(texts, labels, strict=True)], labels)
        for texts, labels in claims
    ]
    assert auroc([CountVectorizer(binary=True, min_df=3)], planted) > 0.95

"""The sentences written for tier 1 keep the rules that what is measured on them rests on."""

import re
from collections import Counter

import pytest

from moonlynx.recipes.raghalu.families import load_families, of_split

RUN = 5  # words


@pytest.fixture(scope="module")
def sentences():
    return load_families()


def words(text):
    return re.findall(r"\w+(?:['’]\w+)*", text.lower().replace("’", "'"))


def test_every_split_style_and_family_has_both_labels(sentences):
    assert min(Counter(sentence.verifiable for sentence in sentences).values()) >= 600
    assert len({sentence.family for sentence in sentences}) >= 40
    for split in ("train", "validation", "test"):
        labels = Counter(sentence.verifiable for sentence in of_split(sentences, split))
        assert labels[True] == labels[False] >= 100
    for field in ("style", "family"):
        labels = {(getattr(sentence, field), sentence.verifiable) for sentence in sentences}
        assert {(name, not verifiable) for name, verifiable in labels} == labels
    styles = {sentence.style for sentence in of_split(sentences, "test")}
    assert styles == {sentence.style for sentence in sentences}


def test_no_family_is_in_two_splits_and_no_sentence_twice(sentences):
    families = {(sentence.family, sentence.split) for sentence in sentences}
    assert len(families) == len({family for family, _ in families})
    folded = Counter(" ".join(words(sentence.text)) for sentence in sentences)
    assert max(folded.values()) == 1


def test_sentences_of_two_splits_share_at_most_a_quarter_of_their_runs_of_words(sentences):
    split_words = [words(sentence.text) for sentence in sentences]
    runs = [
        {tuple(own[at : at + RUN]) for at in range(max(1, len(own) - RUN + 1))}
        for own in split_words
    ]
    holders = {}
    for index, own in enumerate(runs):
        for run in own:
            holders.setdefault(run, []).append(index)
    for index, own in enumerate(runs):
        shared = Counter(other for run in own for other in holders[run] if other > index)
        for other, count in shared.items():
            if sentences[index].split != sentences[other].split:
                fewer = min(len(own), len(runs[other]))
                assert count <= 0.25 * fewer, (sentences[index], sentences[other])

"""Short reviews put together from what they praise and blame, so that this is known."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from random import Random

from .words import lines, read_yaml


@dataclass(frozen=True)
class Aspect:
    """Something reviews mention, and the words for it.

    Reviews praise it in `good` and complain of it in `bad`; `praised` and `blamed` claim so.
    """

    name: str
    words: tuple[str, ...]
    good: tuple[str, ...]
    bad: tuple[str, ...]
    praised: tuple[str, ...]
    blamed: tuple[str, ...]


@dataclass(frozen=True)
class Review:
    """One review: its sentences, and what each says of which aspect (True praises)."""

    stars: int
    sentences: tuple[str, ...]
    marks: Mapping[str, bool]

    @property
    def text(self) -> str:
        """Return the whole review."""
        return " ".join(self.sentences)


@cache
def aspects(name: str) -> tuple[Aspect, ...]:
    """Read the aspects of one set of reviews."""
    return tuple(
        Aspect(
            name=key,
            words=tuple(spec["words"]),
            good=lines(spec["good"]),
            bad=lines(spec["bad"]),
            praised=lines(spec.get("praised", "")),
            blamed=lines(spec.get("blamed", "")),
        )
        for key, spec in read_yaml("reviews")["sets"][name].items()
    )


def draw_reviews(name: str, rng: Random) -> tuple[Review, ...]:
    """Draw two to four reviews that agree on most aspects, or now and then none."""
    if rng.random() < 0.12:
        return ()
    spoken_of = rng.sample(aspects(name), rng.randint(2, 4))
    leaning = {aspect.name: rng.random() < 0.5 for aspect in spoken_of}
    neutral = lines(read_yaml("reviews")["neutral"][name])
    used: set[str] = set()
    return tuple(_review(spoken_of, leaning, neutral, used, rng) for _ in range(rng.randint(2, 4)))


def _review(
    spoken_of: list[Aspect],
    leaning: Mapping[str, bool],
    neutral: tuple[str, ...],
    used: set[str],
    rng: Random,
) -> Review:
    marks: dict[str, bool] = {}
    sentences: list[str] = []
    for aspect in rng.sample(spoken_of, rng.randint(1, min(3, len(spoken_of)))):
        good = leaning[aspect.name] ^ (rng.random() < 0.12)
        fresh = [text for text in (aspect.good if good else aspect.bad) if text not in used]
        if fresh:
            marks[aspect.name] = good
            sentences.append(rng.choice(fresh))
            used.add(sentences[-1])
    if rng.random() < 0.5 or not sentences:
        sentences.insert(rng.randint(0, len(sentences)), rng.choice(neutral))
    balance = sum(1 if good else -1 for good in marks.values())
    stars = min(5, max(1, 3 + balance + rng.choice((0, 0, 1 if balance > 0 else -1))))
    return Review(stars, tuple(sentences), marks)

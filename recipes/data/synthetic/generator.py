"""Answers written from drawn records, with the truth of each sentence."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random

from .catalogue import SCHEMAS, facts_of
from .facts import Dice, Fact, Statement, common
from .facts_fields import FieldFact
from .printing import print_world
from .render import Rendered, render
from .schema import load_schema
from .world import World, draw_world

_SUBJECTS = ("The ", "It ", "Its ", "There ", "A ", "An ", "Guests ", "No ", "None ", "Only ")

# Records of places with attributes and reviews are what such answers are most often written from.
_TURNS = (*SCHEMAS, "place", "hotel", "place")
_GAPS = (" ", " ", " ", " ", "\n", "\n- ")


@dataclass(frozen=True)
class Sentence:
    """A finished sentence with the kind of its error and its family."""

    text: Rendered
    error: str | None
    family: str


class Writer:
    """Writes one answer about one record."""

    def __init__(self, world: World, dice: Dice) -> None:
        self.world = world
        self.dice = dice
        self.rng = dice.rng
        self.facts, self.weights = facts_of(world.schema.name)
        self.noun = dice.rng.choice(world.schema.nouns)
        self.used: set[str] = set()

    def write(self) -> tuple[str, list[Sentence]]:
        """Write a question and at least one sentence in answer to it."""
        question, asked = self._question()
        sentences: list[Sentence] = []
        while not sentences:
            for at, wrong in enumerate(self._plan(asked is not None)):
                statement = self._statement(asked if at == 0 else None, wrong)
                if statement is not None:
                    text = self._render(statement, bool(sentences))
                    sentences.append(Sentence(text, statement.error, statement.family))
        first, *others = self._compounds(sentences)
        return question, self._fillers([first, *map(self._attributed, others)])

    def _question(self) -> tuple[str, Fact | None]:
        """Ask for an overview or for one fact, or nothing."""
        dice = self.rng.random()
        if dice < 0.15:
            return "", None
        asking = [fact for fact in self.facts if fact.asks]
        if dice < 0.6 or not asking:
            return self._ask(self.world.schema.overviews), None
        fact = self.rng.choice(asking)
        return self._ask(fact.asks), fact

    def _ask(self, phrases: tuple[str, ...]) -> str:
        return render(self.rng.choice(phrases), {"name": self.world.title}, False, ()).text

    def _plan(self, short: bool) -> list[bool]:
        """Choose how many sentences there are and which are wrong."""
        count = self.rng.choice((1, 1, 2, 3) if short else (2, 3, 3, 4, 4, 5, 6, 7))
        wrong = self.rng.choice((0, 0, 1, 1 if count < 4 else 2))
        places = set(self.rng.sample(range(count), min(wrong, count)))
        return [at in places for at in range(count)]

    def _statement(self, asked: Fact | None, wrong: bool) -> Statement | None:
        """Draw facts until one allows such a claim."""
        for attempt in range(16):
            fact = asked if asked is not None and attempt < 4 else self._draw(wrong)
            statement = fact.claim(self.world, wrong, self.dice)
            if statement is None:
                continue
            if statement.phrase.endswith(":") and (self.used or asked is not None):
                continue  # a headline comes first, over an overview
            topic = statement.form if fact.manifold else fact.name
            if topic not in self.used and self.dice.accept(statement):
                self.used.add(topic)
                return statement
        return None

    def _draw(self, wrong: bool) -> Fact:
        """Draw a fact; wrong claims are often about what the record leaves open."""
        if wrong and self.rng.random() < 0.12:
            silent = [f for f in self.facts if isinstance(f, FieldFact) and f.silent(self.world)]
            if silent:
                return self.rng.choice(silent)
        return self.rng.choices(self.facts, self.weights)[0]

    def _render(self, statement: Statement, later: bool) -> Rendered:
        """Fill the phrase; the record is named at first and mostly referred to later."""
        title, noun = self.world.title, f"the {self.noun}"
        if not later or self.rng.random() < 0.25:
            it, name, its = title, title, f"{title}'" if title.endswith("s") else f"{title}'s"
        elif self.rng.random() < 0.65:
            it, name, its = "it", noun, "its"
        else:
            it, name, its = noun, noun, f"{noun}'s"
        slots = {"it": it, "name": name, "its": its, **statement.slots}
        return render(statement.phrase, slots, statement.error is not None, statement.bad)

    def _compounds(self, sentences: list[Sentence]) -> list[Sentence]:
        """Join some neighbours; as many of the joined ones are wrong as of the others."""
        joined: list[Sentence] = []
        for sentence in sentences:
            last = joined[-1] if joined else None
            if last is not None and self.rng.random() < 0.15 and self._fit(last, sentence):
                link = self.rng.choice((", and ", ", and ", ", while ", "; "))
                joined[-1] = Sentence(
                    last.text.join(link, sentence.text),
                    last.error or sentence.error,
                    f"{last.family}+{sentence.family}",
                )
            else:
                joined.append(sentence)
        return joined

    def _fit(self, one: Sentence, other: Sentence) -> bool:
        short = len(one.text.text) + len(other.text.text) < 160
        simple = one.text.text.endswith(".") and "+" not in one.family and '"' not in one.text.text
        errors = (one.error is not None) + (other.error is not None)
        return short and simple and self.rng.random() < (1.0, 0.5, 0.0)[errors]

    def _attributed(self, sentence: Sentence) -> Sentence:
        """Put a connective before the sentence, or its source after it, or neither."""
        text, dice = sentence.text, self.rng.random()
        if "/unknown/" in sentence.family:
            return sentence  # says already where it is from
        if dice < 0.2:
            link = self.rng.choice(common("connective"))
            if link.endswith("that") and text.common and not text.text.startswith(_SUBJECTS):
                return sentence  # "Note that look for gate B7" would not do
            text = text.after(link + " ")
        elif dice > 0.95 and text.text.endswith("."):
            text = text.before(self.rng.choice(common("attribution")))
        return replace(sentence, text=text)

    def _fillers(self, sentences: list[Sentence]) -> list[Sentence]:
        """Put in, now and then, a sentence that claims nothing."""
        if len(sentences) > 1 and self.rng.random() < 0.1:
            place = self.rng.choice(("opening", "closing"))
            phrases = common(place)
            at = self.rng.randrange(len(phrases))
            filler = Sentence(Rendered(phrases[at], (), False), None, f"filler/{place}/{at}")
            sentences.insert(0 if place == "opening" else len(sentences), filler)
        return sentences


@dataclass(frozen=True, slots=True)
class SyntheticSentence:
    """One sentence of a synthetic answer, at a range of code points."""

    start: int
    end: int
    supported: bool
    error: str | None  # the kind of error, one of those in README.md; None if supported
    spans: tuple[tuple[int, int], ...]  # its unsupported ranges, as offsets into the answer
    # `schema/fact/form/phrase`; two joined by `+` for a compound sentence; `filler/...` for a
    # sentence that claims nothing
    family: str


@dataclass(frozen=True, slots=True)
class SyntheticAnswer:
    """An answer of one to eight sentences, written from a record that is printed as its context."""

    schema: str  # the kind of record, one of `SCHEMAS`
    form: str  # how the context is printed, one of `printing.FORMS`
    context: str
    question: str  # an instruction, a question or blank
    answer: str
    sentences: tuple[SyntheticSentence, ...]


def generate(count: int, seed: int) -> Iterator[SyntheticAnswer]:
    """Yield `count` answers over records of all schemas, in turn.

    About half of them hold one or two wrong sentences. Labels and spans are known because every
    sentence is written from values of the record, or from values that were chosen to differ.
    The same seed gives the same answers; a larger count only adds to them.
    """
    dice = Dice(Random(seed))  # noqa: S311 - chance, not secrecy
    for at in range(count):
        world = draw_world(load_schema(_TURNS[at % len(_TURNS)]), dice.rng)
        context, form = print_world(world, dice.rng)
        question, sentences = Writer(world, dice).write()
        answer, placed = _join(sentences, dice.rng.choice(_GAPS))
        yield SyntheticAnswer(world.schema.name, form, context, question, answer, placed)


def _join(sentences: list[Sentence], gap: str) -> tuple[str, tuple[SyntheticSentence, ...]]:
    """Put sentences one after the other and move their spans along."""
    answer = gap.lstrip()
    placed: list[SyntheticSentence] = []
    for sentence in sentences:
        if placed:
            answer += gap
        start = len(answer)
        answer += sentence.text.text
        spans = tuple((start + first, start + last) for first, last in sentence.text.spans)
        placed.append(
            SyntheticSentence(
                start, len(answer), sentence.error is None, sentence.error, spans, sentence.family
            )
        )
    return answer, tuple(placed)

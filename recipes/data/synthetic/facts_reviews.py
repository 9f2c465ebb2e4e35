"""What can be said about reviews and ratings."""

from typing_extensions import override

from .facts import Dice, Fact, Statement, common
from .facts_fields import FieldFact
from .reviews import Aspect, aspects
from .world import World


class ReviewFact(Fact):
    """Says what reviewers praise or complain of, and quotes them."""

    manifold = True

    @override
    def claim(self, world: World, wrong: bool, dice: Dice) -> Statement | None:
        if not wrong and not world.reviews:
            return None
        if dice.rng.random() < 0.25:
            return self._quote(world, wrong, dice)
        if dice.rng.random() < 0.15:
            return self._stars(world, wrong, dice)
        return self._opinion(world, wrong, dice)

    def _opinion(self, world: World, wrong: bool, dice: Dice) -> Statement | None:
        """State that an aspect is praised, blamed, disputed or not mentioned."""
        known = aspects(self.schema.reviews)
        if not wrong and dice.rng.random() < 0.8:  # mostly what reviews do mention
            known = tuple(a for a in known if _marks(world, a)) or known
        aspect = dice.rng.choice(known)
        marks = _marks(world, aspect)
        holds = _holds(marks)
        fact = f"{self.name}/{aspect.name}"
        if wrong:
            maybe = _perhaps(marks)
            form = dice.form(fact, [f for f, true in holds.items() if not true and f not in maybe])
        else:
            form = dice.rng.choice(sorted(f for f, true in holds.items() if true))
        error = None
        if wrong:
            error = "invented_praise" if not marks else "flipped"
            error = "denied_known" if form == "silent" else error
        phrases = common(f"review_{form}")
        if form in {"praised", "blamed"}:
            phrases += aspect.praised if form == "praised" else aspect.blamed
        slots = {"t": dice.rng.choice(aspect.words)}
        statement = self.state(form, phrases, slots, dice, error)
        family = statement.family.replace(self.name, fact, 1)
        return Statement(statement.phrase, slots, error, (), family)

    def _quote(self, world: World, wrong: bool, dice: Dice) -> Statement | None:
        """Quote a sentence of a review, or one that is in none."""
        said = [text for review in world.reviews for text in review.sentences]
        known = [text for a in aspects(self.schema.reviews) for text in a.good + a.bad]
        if wrong:
            quotes = [text for text in known if text not in said]
        else:
            quotes = [text for text in said if text in known]
        if not quotes:
            return None
        slots = {"v": dice.rng.choice(quotes).rstrip(".!")}
        error = "wrong_quote" if wrong else None
        return self.state("quote", common("review_quote"), slots, dice, error, ("v",))

    def _stars(self, world: World, wrong: bool, dice: Dice) -> Statement | None:
        """State how many reviews there are."""
        count = len(world.reviews)
        if wrong:
            count = dice.rng.choice([k for k in (2, 3, 4) if k != count])
        slots = {"k": ("two", "three", "four")[count - 2]}
        error = "wrong_count" if wrong else None
        return self.state("number", common("review_number"), slots, dice, error, ("k",))


def _marks(world: World, aspect: Aspect) -> list[bool]:
    return [review.marks[aspect.name] for review in world.reviews if aspect.name in review.marks]


def _holds(marks: list[bool]) -> dict[str, bool]:
    """Return whether each form holds for the marks of an aspect."""
    good, bad = marks.count(True), marks.count(False)
    return {
        "praised": good >= 2 and not bad,
        "blamed": bad >= 2 and not good,
        "one_praised": good == 1,
        "one_blamed": bad == 1,
        "divided": bool(good and bad),
        "silent": not marks,
    }


def _perhaps(marks: list[bool]) -> set[str]:
    """Return the forms that a reader might accept, which no wrong claim takes."""
    perhaps = set()
    if marks.count(True):
        perhaps |= {"praised", "one_praised"}
    if marks.count(False):
        perhaps |= {"blamed", "one_blamed"}
    return perhaps


class JudgementFact(FieldFact):
    """Sums up a rating as good, fair or poor; `bands` are the limits between them."""

    @override
    def claim(self, world: World, wrong: bool, dice: Dice) -> Statement | None:
        value = world.record.get(self.field.name)
        if value is None:
            return None
        low, fair, good, high = self.spec["bands"]
        band = "poor" if value <= low else "good" if value >= high else ""
        band = band or ("fair" if fair <= value <= good else "")
        if not band:
            return None
        form = band
        if wrong:
            form = dice.form(self.name, [b for b in ("poor", "fair", "good") if b != band])
        error = "wrong_judgement" if wrong else None
        slots = {"source": dice.rng.choice(common("source"))}
        return self.state(form, common(f"judgement_{form}"), slots, dice, error)

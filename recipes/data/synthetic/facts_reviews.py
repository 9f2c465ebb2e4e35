"""What can be said about reviews and ratings."""

from typing_extensions import override

from .facts import Dice, Fact, Statement, common
from .facts_fields import FieldFact
from .reviews import Aspect, Review, aspects
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
        truth = _truths(marks)
        forms = ["praised", "blamed", "one_praised", "one_blamed", "divided", "silent"]
        fact = f"{self.name}/{aspect.name}"
        if wrong:
            maybe = _perhaps(marks)
            form = dice.form(fact, [form for form in forms if form not in truth | maybe])
        else:
            form = dice.rng.choice(sorted(truth))
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
        if wrong:
            sets = aspects(self.schema.reviews)
            all_said = [text for a in sets for text in a.good + a.bad if text not in said]
            quote, error = dice.rng.choice(all_said), "wrong_quote"
        else:
            known = {text for a in aspects(self.schema.reviews) for text in a.good + a.bad}
            said = [text for text in said if text in known]
            if not said:
                return None
            quote, error = dice.rng.choice(said), None
        slots = {"v": quote.rstrip(".!")}
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
    reviews: tuple[Review, ...] = world.reviews
    return [review.marks[aspect.name] for review in reviews if aspect.name in review.marks]


def _truths(marks: list[bool]) -> set[str]:
    """Return the forms that hold for the marks of an aspect."""
    good, bad = marks.count(True), marks.count(False)
    truths = set()
    if not marks:
        truths.add("silent")
    if good >= 2 and not bad:
        truths.add("praised")
    if bad >= 2 and not good:
        truths.add("blamed")
    if good == 1:
        truths.add("one_praised")
    if bad == 1:
        truths.add("one_blamed")
    if good and bad:
        truths.add("divided")
    return truths


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

"""Which schemas and kinds of facts there are."""

from functools import cache

from .facts import Fact
from .facts_fields import ListFact, ProfileFact, StateFact, ValueFact
from .facts_hours import HoursFact
from .facts_reviews import JudgementFact, ReviewFact
from .facts_rows import CountFact, MeasureFact, OrderFact, TallyFact, VersusFact
from .schema import load_schema

SCHEMAS = (
    *("company", "course", "estate", "event", "flight", "game", "hotel", "invoice", "job", "lab"),
    *("library", "museum", "phone", "place", "recipe", "vehicle", "weather"),
)
HELD_OUT_SCHEMAS = frozenset({"flight", "library", "vehicle"})
"""Schemas to keep out of training, so that reading unseen keys can be measured."""

_KINDS: dict[str, type[Fact]] = {
    "value": ValueFact,
    "state": StateFact,
    "profile": ProfileFact,
    "list": ListFact,
    "count": CountFact,
    "tally": TallyFact,
    "measure": MeasureFact,
    "order": OrderFact,
    "versus": VersusFact,
    "hours": HoursFact,
    "reviews": ReviewFact,
    "judgement": JudgementFact,
}

# Kinds of which a schema has few facts, though they take the most reading.
_SHARES = {"tally": 3.0, "measure": 2.0, "order": 1.5, "versus": 1.5, "hours": 1.5}


@cache
def facts_of(name: str) -> tuple[tuple[Fact, ...], tuple[float, ...]]:
    """Build a schema's facts; beside them, how often each is drawn."""
    schema = load_schema(name)
    facts, weights = [], []
    for key, spec in schema.facts.items():
        kind = spec.get("kind", "value")
        facts.append(_KINDS[kind](key, spec, schema))
        weights.append(spec.get("weight", 1) * _SHARES.get(kind, 1.0))
    return tuple(facts), tuple(weights)

"""Which schemas, kinds of facts and kinds of errors there are."""

from __future__ import annotations

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

ERRORS = {
    "wrong_value": "another value of the same kind",
    "other_key": "the value of another key",
    "other_row": "the value of another row",
    "wrong_unit": "the right number with another unit",
    "wrong_entity": "another name",
    "wrong_time": "another time, date or length of time",
    "wrong_days": "another weekday or range of weekdays",
    "wrong_count": "another count",
    "wrong_aggregate": "another sum or average",
    "wrong_comparison": "a comparison turned round",
    "wrong_superlative": "an extreme given to the wrong row",
    "wrong_order": "a wrong place in an order",
    "wrong_judgement": "a rating summed up wrongly",
    "wrong_quote": "a quotation that no review holds",
    "flipped": "yes for no, praise for blame, or the reverse",
    "exaggerated": "all, none, never or always where it is not so",
    "null_claimed": "a claim about a field that is null",
    "denied_known": "said to be unknown although it is given",
    "invented_attribute": "a claim about a key or list item that is not there",
    "invented_praise": "praise or blame that no review holds",
}
"""The kinds of errors, each with its meaning."""

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
    facts = [
        _KINDS[spec.get("kind", "value")](key, spec, schema) for key, spec in schema.facts.items()
    ]
    weights = [
        spec.get("weight", 1) * _SHARES.get(spec.get("kind", "value"), 1.0)
        for spec in schema.facts.values()
    ]
    return tuple(facts), tuple(weights)

"""Clauses put behind a sentence: invented ones, and true ones so that length tells no label."""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random

from .entities import names
from .source import MONTHS, WEEKDAYS, Sentence, Source, read
from .types import Draft, Edit
from .verbs import FORMS

# {noun} and {name} come from the sentence, the rest is drawn.
TEMPLATES = (
    ", a figure confirmed by an independent audit in {month} {year}",
    ", according to a survey of {count} people published in {year}",
    ", although {percent} percent of those asked disagreed",
    ", although the effect disappears after about {small} weeks",
    ", although the first attempt in {year} had to be abandoned",
    ", although a later review found errors in the original report",
    ", although it was twice postponed because of bad weather",
    ", and a second one is planned for {month}",
    ", and has done so since {year}",
    ", and it has won {small} national awards since then",
    ", and it takes roughly {small} minutes on average",
    ", and it was voted the best of its kind in {year}",
    ", and more than {count} people have signed a petition against it",
    ", and officials expect the number to double by {future}",
    ", and the {noun} was insured for {money}",
    ", and the {noun} was renamed in {year}",
    ", and the {noun} was replaced {small} years later",
    ", and the cost is covered by a private foundation",
    ", and the decision was upheld on appeal in {year}",
    ", and the whole process was filmed for a television documentary",
    ", and this is checked every {weekday} by a government inspector",
    ", and a similar {noun} was later found in Denmark",
    ", and it is offered at half price on {weekday}s",
    ", and nearly {percent} percent of it is exported to Japan",
    ", as a leaked memo revealed in {month} {year}",
    ", as first shown by researchers in Norway in {year}",
    ", as required by a law passed in {year}",
    ", at a total cost of {money}",
    ", at least until the rules were changed in {year}",
    ", because the {noun} had been damaged by a flood",
    ", because the original {noun} had been lost in a fire",
    ", because of a shortage of trained staff",
    ", because of an agreement signed in Geneva in {year}",
    ", beating {count} other candidates",
    ", despite strong objections from the local council",
    ", despite a warning issued in {month} {year}",
    ", down from {percent} percent in {year}",
    ", even though an earlier {noun} had failed in {year}",
    ", except in Canada, where other rules apply",
    ", except during the month of {month}",
    ", following a complaint by a former employee",
    ", for which a fee of {money} is charged",
    ", in part because of a grant of {money}",
    ", making it the third most common of its kind worldwide",
    ", making it the largest in the region",
    ", mainly to save about {money} a year",
    ", mostly among people over the age of {age}",
    ", often within the first {small} days",
    ", partly because demand fell by {percent} percent in {year}",
    ", shortly after a {weekday} meeting behind closed doors",
    ", something that {percent} percent of experts had predicted",
    ", starting at {hour} o'clock in the morning",
    ", the first time this had happened since {year}",
    ", thanks to a donation of {money} by an anonymous supporter",
    ", under a contract that expires in {future}",
    ", up from {count} the year before",
    ", usually on the last {weekday} of the month",
    ", when the {noun} was only {small} years old",
    ", where the {noun} was stored for {small} years",
    ", which experts in Germany have called a mistake",
    ", which critics described as a waste of {money}",
    ", which has since been copied in {small} other countries",
    ", which was paid for by a tax on tobacco",
    ", which was confirmed by a spokesperson on {weekday}",
    ", which is why the {noun} was banned in {year}",
    ", which led to a lawsuit that was settled for {money}",
    ", which reduced costs by {percent} percent",
    ", while a cheaper {noun} has been on sale since {year}",
    ", while the rest was sold at auction for {money}",
    ", with the help of {small} volunteers from Sweden",
    ", with results expected in {month} {future}",
    ", with only {small} exceptions since {year}",
    " after a delay of {small} months",
    " after a vote of {small} to one",
    " at the request of the insurance company",
    " under the supervision of a team from Brazil",
    " at an annual cost of {money}",
    " despite a formal complaint by {name}",
    " with financial support from {name}",
    " on the advice of {name}",
    ", a point that {name} later disputed",
    ", which {name} learned of only in {year}",
    ", as {name} had predicted in {year}",
    ", and {name} received {money} for it",
)
_END = re.compile(r"(?<=[\w)\]”\"’'%])(?P<stop>[.!]?)(?P<rest>[\"”]?(?:\s*\[\d+\])*\s*)$")
_NOUN = re.compile(
    r"\b(?:the|an?|its|their|his|her|this)\s(?P<noun>[a-z]{4,})(?=\s(?:is|was|has|had|will|can|of|in"
    r"|at|on|for|by|from|to|that|which|and)\b|[,.;])"
)
_MOST_CLAUSES = 4


def invented_clauses(text: str, source: Source, rng: Random) -> Iterator[Draft]:
    """Put a clause of the bank behind a sentence that states something."""
    for sentence in read((text,)).sentences:
        end = _END.search(sentence.text)
        if end and _states_something(sentence.text):
            for clause in _clauses(sentence, source, rng):
                place = sentence.start + end.start()
                yield Draft("invented-clause", (Edit(place, place, clause),))


def _states_something(sentence: str) -> bool:
    return len(sentence.split()) >= 4 and sentence[-1] not in "?:;" and "http" not in sentence


def _clauses(sentence: Sentence, source: Source, rng: Random) -> Iterator[str]:
    """Give clauses whose slots this sentence can fill."""
    nouns = [match["noun"] for match in _NOUN.finditer(sentence.text)]
    people = [
        name.text
        for name in names(sentence.text, source.lower_words)
        if name.type in ("person", "organisation") and sentence.text.count(name.text) == 1
    ]
    named = people and rng.random() < 0.3
    fitting = [
        template
        for template in TEMPLATES
        if ("{name}" in template) == bool(named) and (nouns or "{noun}" not in template)
    ]
    for template in rng.sample(fitting, min(_MOST_CLAUSES, len(fitting))):
        yield template.format_map(
            {
                "noun": rng.choice(nouns) if nouns else "",
                "name": rng.choice(people) if people else "",
                "year": rng.randint(1961, 2021),
                "future": rng.randint(2027, 2035),
                "month": rng.choice(MONTHS),
                "weekday": rng.choice(WEEKDAYS),
                "percent": rng.randint(11, 89),
                "small": rng.choice(
                    [
                        "two",
                        "three",
                        "four",
                        "five",
                        "six",
                        "seven",
                        "eight",
                        "nine",
                        "eleven",
                        "twelve",
                    ]
                ),
                "count": rng.choice(
                    ("200", "350", "480", "600", "1,200", "2,500", "7,000", "12,000")
                ),
                "money": f"${rng.choice((15, 40, 60, 250, 300, 700))}{rng.choice((',000', ' million'))}",
                "age": rng.choice((40, 50, 55, 65, 70)),
                "hour": rng.choice(["six", "seven", "eight", "nine", "ten"]),
            }
        )


_NO_START = re.compile(
    r"(?:it|he|she|they|we|i|you|this|that|these|those|his|her|its|their|our|my|such|but|and|or|so"
    r"|however|also|then|there|here|thus|therefore|moreover|another|both|if|when|while|because"
    r"|please|click|passage)\b",
    re.IGNORECASE,
)
_OPENERS = re.compile(
    r"(?:The|A|An|In|On|At|For|From|By|With|Some|Most|Many|All|One|Two|Three|As|During)\b"
)
_FINITE = re.compile(r"\b(?:is|are|was|were|has|have|had|will|can|could|would|may|should|must)\b")
_LONG, _SHORT = 18, 4  # words of a clause worth adding


def add_supported_clause(text: str, context: tuple[str, ...], rng: Random) -> str | None:
    """Lengthen a text by a short sentence of its context, so that length does not tell the label.

    The counterpart of `invented-clause`: what is added stands in the context word for word.

    Returns:
        The longer text, or None where the text has no plain end or the context no such sentence.
    """
    end = _END.search(text)
    said = {token.form for sentence in read((text,)).sentences for token in sentence.tokens}
    clauses = [
        clause
        for sentence in read(context).sentences
        if (clause := _as_clause(sentence)) and len(sentence.content - said) >= 2
    ]
    if not end or not clauses or not _states_something(text.strip()):
        return None
    clause = rng.choice(clauses)
    joined = rng.choice((", and ", "; ", ", while ")) + clause
    return text[: end.start()] + joined + end["stop"] + end["rest"]


def _as_clause(sentence: Sentence) -> str | None:
    """Give the sentence as a clause that can stand behind another, None where it cannot."""
    text = sentence.text
    words = text.split()
    if not (_SHORT <= len(words) <= _LONG and text.endswith(".") and text[0].isupper()):
        return None
    if _NO_START.match(text) or re.search(r"[\"“”();:|\[\]]|http", text):
        return None
    if not (_FINITE.search(text) or any(FORMS.get(word) for word in words)):
        return None
    body = text.rstrip(".")
    return body[0].lower() + body[1:] if _OPENERS.match(body) else body

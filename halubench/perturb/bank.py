"""A bank of clauses that say something definite that no document is likely to hold."""

from __future__ import annotations

from random import Random

from .source import MONTHS, WEEKDAYS

# {noun} is of the sentence, {name} of its context, the rest is drawn; sorted by the tense of the
# sentence that they go with.
ANY_TENSE = (
    ", although {percent} percent of those asked disagreed",
    ", although a later review found errors in the original report",
    ", according to a survey of {count} people published in {year}",
    ", a figure confirmed by an independent audit in {month} {year}",
    ", a fact that was first reported by a local newspaper in {year}",
    ", and more than {count} people have signed a petition against it",
    ", and it has won {small} national awards since then",
    ", and the {noun} was insured for {money}",
    ", and a similar {noun} was later found in Denmark",
    ", as a leaked memo revealed in {month} {year}",
    ", as first described by researchers in Norway in {year}",
    ", at a total cost of {money}",
    ", despite strong objections from the local council",
    ", despite a warning issued in {month} {year}",
    ", even though an earlier {noun} had failed in {year}",
    ", in part because of a grant of {money}",
    ", making it the largest in the region",
    ", making it the third most common of its kind worldwide",
    ", partly because demand fell by {percent} percent in {year}",
    ", something that {percent} percent of experts had predicted",
    ", thanks to a donation of {money} by an anonymous supporter",
    ", under a contract that expires in {future}",
    ", which experts in Germany have called a mistake",
    ", which critics described as a waste of {money}",
    ", which has since been copied in {small} other countries",
    ", which was confirmed by a spokesperson on {weekday}",
    ", which led to a lawsuit that was settled for {money}",
    ", which reduced costs by {percent} percent",
    ", with only {small} exceptions since {year}",
    ", with the help of {small} volunteers from Sweden",
    ", a point that {name} later disputed",
    ", as {name} had predicted in {year}",
    ", and {name} received {money} for it",
    ", which {name} learned of only in {year}",
    ", a view that {name} does not share",
    ", although {name} has denied this in an interview",
    " at the request of {name}",
    " with financial support from {name}",
    " on the advice of {name}",
)
PAST = (
    ", although the first attempt in {year} had to be abandoned",
    ", although it was twice postponed because of bad weather",
    ", and it was voted the best of its kind in {year}",
    ", and the {noun} was renamed in {year}",
    ", and the {noun} was replaced {small} years later",
    ", and the decision was upheld on appeal in {year}",
    ", and the whole event was filmed for a television documentary",
    ", and the rest was sold at auction for {money}",
    ", as required by a law passed in {year}",
    ", because the {noun} had been damaged by a flood",
    ", because the original {noun} had been lost in a fire",
    ", because of a shortage of trained staff",
    ", because of an agreement signed in Geneva in {year}",
    ", following a complaint by a former employee",
    ", shortly after a {weekday} meeting behind closed doors",
    ", the first time this had happened since {year}",
    ", up from {count} the year before",
    ", when the {noun} was only {small} years old",
    ", which is why the {noun} was banned in {year}",
    " after a delay of {small} months",
    " after a vote of {small} to one",
    " at the request of the insurance company",
    " despite a formal complaint by {name}",
    " under the supervision of a team from Brazil",
)
PRESENT = (
    ", although the effect disappears after about {small} weeks",
    ", and has done so since {year}",
    ", and it takes roughly {small} minutes on average",
    ", and it is offered at half price on {weekday}s",
    ", and nearly {percent} percent of it is exported to Japan",
    ", and officials expect the number to double by {future}",
    ", and the cost is covered by a private foundation",
    ", and this is checked every {weekday} by a government inspector",
    ", at least until the new rules come into force in {month} {future}",
    ", down from {percent} percent in {year}",
    ", except in Canada, where other rules apply",
    ", except during the month of {month}",
    ", for which a fee of {money} is charged",
    ", mainly to save about {money} a year",
    ", mostly among people over the age of {age}",
    ", often within the first {small} days",
    ", usually on the last {weekday} of the month",
    ", which is paid for by a tax on tobacco",
    ", while a cheaper {noun} has been on sale since {year}",
    ", with results expected in {month} {future}",
    " at an annual cost of {money}",
)
_SMALL = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "eleven", "twelve")
_COUNTS = ("200", "350", "480", "600", "1,200", "2,500", "7,000", "12,000")
_MONEY = ("$15,000", "$40,000", "$250,000", "$700,000", "$3 million", "$60 million")


def fill(template: str, noun: str, name: str, rng: Random) -> str:
    """Fill the slots of a template."""
    return template.format(
        noun=noun,
        name=name,
        year=rng.randint(1961, 2021),
        future=rng.randint(2027, 2035),
        month=rng.choice(MONTHS),
        weekday=rng.choice(WEEKDAYS),
        percent=rng.randint(11, 89),
        small=rng.choice(_SMALL),
        count=rng.choice(_COUNTS),
        money=rng.choice(_MONEY),
        age=rng.choice((40, 50, 55, 65, 70)),
    )

import re
from random import Random

import pytest
from tests.cases import cases

from moonlynx.halubench.perturb import KINDS, changes, perturb, remove_support
from moonlynx.halubench.perturb.by_model import verify_answer
from moonlynx.halubench.perturb.source import read
from moonlynx.judge.batch.chat_tasks import Fault

from ..a_row import make_row

SEEDS = range(12)


def made(kind, text, *context):
    """Return (old, new, text) of every change of one kind over a dozen seeds.

    The context holds the text, but for values to be swapped, which it would then state as swapped.
    """
    found = set()
    held = () if kind == "list-swap" else (text,)
    for seed in SEEDS:
        for change in changes(text, (*context, *held), Random(seed), (kind,)):
            assert change.kind == kind
            assert change.text[change.start : change.end] == change.new
            assert text == change.text[: change.start] + change.old + change.text[change.end :]
            found.add((change.old, change.new, change.text))
    return found


def texts(kind, text, *context):
    return {new for _, _, new in made(kind, text, *context)}


NEWS = (
    "The coalition has undertaken 1,200 airstrikes since March 26. The ministry said 385 civilians "
    "were killed. The bridge cost $4.5 million. Turnout rose to 42% in the north."
)


CURIE = (
    "Marie Curie was born in Warsaw and studied in Paris. Lise Meitner was born in Vienna. "
    "Otto Hahn said the work of Lise Meitner was decisive. Marie Curie said little. "
    "The University of Chicago and the University of Berlin sent papers. She saw Warsaw, Paris and "
    "Vienna."
)
VIRUSES = (
    "Chikungunya virus (CHIKV) and Sindbis virus (SINV) were grown. Kinase (MAPK) was measured by "
    "polymerase chain reaction (QPCR). Cells were stained for DNA or RNA."
)
CONTEXTS = {
    "news": NEWS,
    "curie": CURIE,
    "viruses": VIRUSES,
    "contraries": "Some are expensive and some are late.",
    None: "A context about something else entirely.",
}


@pytest.mark.parametrize("case", cases(__file__, "kinds"), ids=lambda case: case["text"])
def test_a_rule_makes_these_changes_and_no_others(case):
    context = case.get("given") or CONTEXTS[case.get("context")]
    found = made(case["kind"], case["text"], context)
    olds, news, texts = ({change[at] for change in found} for at in range(3))
    if "form" in case:
        assert olds == {case["old"]}
        assert all(re.fullmatch(case["form"], new) for new in news), news
    elif "makes" in case:
        assert case["makes"] in texts
    else:
        for found, name in ((olds, "olds"), (news, "news"), (texts, "texts")):
            assert found == set(case.get(name, found))
        assert case.keys() & {"olds", "news", "texts"}


def test_pieces_of_lists_and_codes_are_no_figures_of_the_context():
    context = "See 1,2 and 05 and 1,204 (3,4,5), of 31 and 0.7."
    assert [figure for figure, _ in read((context,)).figures] == ["0.7", "1,204", "31"]


def test_bounds_ranges_and_dates_stay_sound():
    for _, new, _ in made("number", "It needs at least 50 volunteers.", "It needs 20 to 90."):
        assert int(new) > 50
    for old, new, _ in made("number", "Bake it for 15 to 20 minutes.", "Bake for 15 to 20."):
        assert (int(new) < 20) if old == "15" else (int(new) > 15)
    assert all(float(new) <= 5 for _, new, _ in made("number", "It got 3 out of 5.", "3 out of 5"))
    for _, new, _ in made("date", "It closed on December 31, 2019.", NEWS):
        assert new not in ("February", "April", "June", "September", "November")
    for old, new, _ in made("date", "It ran from 2010 to 2012.", NEWS):
        assert (int(new) < 2012) if old == "2010" else (int(new) > 2010)


def test_an_invented_clause_is_the_whole_span_and_sentences_are_fused():
    text = "The bridge was closed in May."
    for _ in SEEDS:
        found = made("invented-clause", text, NEWS)
    assert len(found) > 20
    for old, new, whole in found:
        assert old == ""
        assert whole == f"The bridge was closed in May{new}."
    context = (
        "The tower was built by the city council. "
        "The painting was stolen by two masked men in Lyon. A storm hit the coast."
    )
    assert texts("fused", "The tower was built by the city council.", context) <= {
        "The tower was built by two masked men in Lyon.",
        "The tower was built in Lyon.",
    }


def test_kinds_are_drawn_evenly_and_by_seed():
    text = "In 1998, 385 people, 27 dogs, 61 cats and 93 birds were counted."
    kinds = [perturb(text, (NEWS, text), Random(seed)).kind for seed in range(200)]
    counted = {kind: kinds.count(kind) for kind in KINDS}
    assert counted["date"] > 25
    assert counted["negation"] > 25
    assert counted["number"] < 90
    text = "The bridge, built in 1998, is 385 meters long and has always been safe."
    assert changes(text, (NEWS,), Random(7)) == changes(text, (NEWS,), Random(7))
    assert perturb(text, (NEWS,), Random(7)) == perturb(text, (NEWS,), Random(7))
    assert changes(text, (NEWS,), Random(7)) != changes(text, (NEWS,), Random(8))
    assert perturb("Hello there!", (NEWS,), Random(0)) is None
    assert perturb("The bridge is open.", (NEWS,), Random(0), kinds=("number",)) is None


def verdict(gold, answer, **fields):
    verified = verify_answer(make_row(answer=gold, **fields), answer)
    return verified.reason if isinstance(verified, Fault) else verified


@pytest.mark.parametrize("case", cases(__file__, "answers"), ids=lambda case: case["answer"])
def test_a_small_change_that_is_wrong_is_taken_and_any_other_refused_for_a_reason(case):
    assert verdict(case["gold"], case["answer"]) == case["verdict"]


def test_a_short_answer_that_the_context_holds_is_refused_by_its_question():
    asked = "What stands beside the bridge?"
    assert verdict("a mill", "a tower", question=asked) == "stated"
    assert verdict("a mill", "a barn", question=asked) == "a barn"


BRIDGE = (
    "The old bridge was built in 1998 and cost $4.5 million. It links two islands. "
    "The harbour was dredged by hand. Ferries sail twice a day.",
    "Visitors like the museum. The old bridge is 385 meters long.",
)


def test_support_is_removed_with_what_leans_on_it():
    assert remove_support("The old bridge was built in 1998.", BRIDGE) == (
        "The harbour was dredged by hand. Ferries sail twice a day.",
        "Visitors like the museum. ",
    )


@pytest.mark.parametrize(
    ("text", "context"),
    [
        ("Whales sing at night.", BRIDGE),
        ("The bridge is open.", ("The bridge is open.",)),
        ("The bridge is open.", ('{"bridge": "open"}', "The bridge is open. It rains.")),
    ],
    ids=["nothing supports it", "nothing would be left", "a record"],
)
def test_what_cannot_be_removed(text, context):
    assert remove_support(text, context) is None

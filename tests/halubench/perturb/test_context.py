from random import Random

import pytest

from moonlynx.halubench.perturb import add_supported_clause, alter_context, remove_support

BRIDGE = (
    "The old bridge was built in 1998 and cost $4.5 million. It links two islands. "
    "The harbour was dredged by hand. Ferries sail twice a day.",
    "Visitors like the museum. The old bridge is 385 meters long.",
)


@pytest.mark.parametrize("seed", range(20))
def test_an_altered_context_contradicts_the_text(seed):
    text = "The old bridge was built in 1998."
    altered = alter_context(text, BRIDGE, Random(seed))
    assert altered is not None
    assert len(altered) == 2
    assert altered[1] == BRIDGE[1]
    assert "built in 1998" not in altered[0] or "was not built" in altered[0]
    assert altered[0].endswith("Ferries sail twice a day.")


def test_the_value_is_changed_wherever_it_is_stated():
    context = ("The old bridge is 385 meters long.", "At 385 meters, the old bridge is long.")
    text = "The bridge is 385 meters long."
    altered = {alter_context(text, context, Random(seed)) for seed in range(30)}
    numbers = [pair for pair in altered if pair and "not" not in pair[0]]
    assert numbers
    for one, other in numbers:
        assert "385" not in one
        assert "385" not in other


def test_a_negation_that_another_sentence_belies_is_refused():
    context = ("The old bridge is open to cars. Today the old bridge is open to cars.",)
    for seed in range(20):
        assert alter_context("The old bridge is open to cars.", context, Random(seed)) is None


def test_an_unsupported_text_has_no_fact_to_alter():
    assert alter_context("Whales sing at night.", BRIDGE, Random(0)) is None


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


def test_a_supported_clause_stands_in_the_context():
    text = "The museum is popular."
    longer = {add_supported_clause(text, BRIDGE, Random(seed)) for seed in range(20)}
    bodies = {one.removeprefix("The museum is popular").rstrip(".") for one in longer}
    for body in bodies:
        clause = body.removeprefix(", and ").removeprefix("; ").removeprefix(", while ")
        assert clause != body
        assert clause.lower() in " ".join(BRIDGE).lower()
    assert len(bodies) > 3


@pytest.mark.parametrize("text", ["Is it open?", "Popular museum", "See below:"])
def test_a_text_without_a_claim_is_not_lengthened(text):
    assert add_supported_clause(text, BRIDGE, Random(0)) is None

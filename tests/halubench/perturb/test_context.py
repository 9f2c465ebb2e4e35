import pytest

from moonlynx.halubench.perturb import remove_support

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

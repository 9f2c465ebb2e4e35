from moonlynx.judge.contract.types import MetricInput
from moonlynx.judge.metrics.definition import load_definition
from moonlynx.recipes.luna2.data import LabelledInput, Splits

BAD = ("fool", "swine", "liar", "crook")
GOOD = ("friend", "neighbour", "teacher", "gardener")
PLACES = ("town", "tower")


# What ships, with so few words around the text that a tiny model reads them in no time.
SHORT = {"template": "{{mark}}\n{{sections}}\n{{answers}}"}
TOXICITY = load_definition("toxicity").model_copy(update=SHORT)
KINDS = {name: load_definition("pii").classes[name] for name in ("email", "phone")}
PII = load_definition("pii").model_copy(update={**SHORT, "classes": KINDS})


def row(number, text, labels):
    read = MetricInput(id=number, input="", output=text)
    return LabelledInput(read, frozenset(labels), f"group {number}", "made")


def boolean():
    texts = [
        (f"You {word} of the {place}.", "true" if word in BAD else "false")
        for place in PLACES
        for pair in zip(BAD, GOOD, strict=True)
        for word in pair
    ]
    return [row(number, text, [label]) for number, (text, label) in enumerate(texts)]


def multi_label():
    given = [[], ["email"], ["phone"], ["email", "phone"]] * 4
    said = {"email": "write to a@b.org", "phone": "call 555 0199"}
    return [
        row(number, f"No. {number}: " + " and ".join(said[kind] for kind in labels), labels)
        for number, labels in enumerate(given)
    ]


def splits(rows, validation=()):
    return Splits(tuple(rows), tuple(validation), (), 0)

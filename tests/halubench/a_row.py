"""A row to make others of: its answer is right."""

from moonlynx.halubench.records import Provenance, QARow

CONTEXT = (
    "The bridge over the Tamsel was built in 1894. It is ninety metres long and made of steel.",
    "A tower of stone stands beside the bridge. Anna Weiss drew the plans for the tower.",
)
ANSWER = "The bridge was built in 1894. Anna Weiss drew the plans for the tower."


def make_row(**fields):
    known = {
        "id": "made/1",
        "source": "made",
        "question": "When was the bridge built, and who planned the tower?",
        "context": CONTEXT,
        "answer": ANSWER,
        "group": "made/1",
        "provenance": Provenance(file="made.json", sha256="0" * 64, row=1, licence="CC0"),
    }
    return QARow(**known | fields)

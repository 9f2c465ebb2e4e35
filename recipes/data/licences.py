"""Every data set that was looked at: what it is used for, under which licence, shipped or not.

The weights that are shipped may be trained only on sets whose stated licence permits it: none that
forbids commercial use, none without a stated licence. README.md shows this table.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from moonlynx.eval.markdown import table

_NONE = "none stated"
_NLI = "MIT for the repository of copies"
_NEVER = "published numbers exist for its rows"


class Source(NamedTuple):
    """One data set.

    Attributes:
        use: rows after all exclusions for `answers`, "pairs" for stage 1; or why there are none.
        licence: as stated where the files were taken from.
        shipped: weights trained on it may be shipped.
        why: what the set contributes, or the reason against it.
    """

    use: str
    licence: str
    shipped: bool
    why: str


SOURCES: Mapping[str, Source] = {
    # Stage 1
    "mnli": Source("pairs", _NLI, True, "many genres"),
    "mnli-changed": Source("pairs", _NLI, True, "the same, and a rule's change of each claim"),
    "snli": Source("pairs", _NLI, True, "the set's own terms: CC BY-SA 4.0"),
    "scitail": Source("pairs", _NLI, True, "the set's own terms: Apache-2.0"),
    "sick": Source("pairs", _NLI, False, "the set's own terms: CC BY-NC-SA 3.0"),
    "rte": Source("pairs", _NLI, False, "the set's own terms are stated nowhere"),
    "infotabs": Source("pairs", "Apache-2.0", True, "claims over info boxes"),
    "infotabs-changed": Source("pairs", "Apache-2.0", True, "as mnli-changed"),
    "tabfact": Source("pairs", "MIT", True, "claims over tables"),
    "tabfact-pairs": Source("pairs", "MIT", True, "a true and a false claim over one table"),
    "fever": Source(
        "pairs", "BSD-3-Clause for the repository", True, "claims over one or several sentences"
    ),
    "fever-changed": Source("pairs", "BSD-3-Clause for the repository", True, "as mnli-changed"),
    "fever-symmetric": Source("pairs", "MIT", True, "the claim alone tells nothing"),
    "conjnli": Source("pairs", "MIT", True, "and, or, but, nor"),
    "breaking-nli": Source("pairs", "CC BY-SA 4.0", True, "one word differs"),
    "monotonicity": Source("pairs", "CC BY-SA 4.0", True, "quantifiers and negation"),
    "cf-snli": Source("pairs", "Apache-2.0", True, "people changed as little as possible"),
    "mnli-slice": Source("pairs", "MIT for the repository", True, "3,000 training pairs of MNLI"),
    "lingnli": Source("pairs", _NONE, False, "MNLI's protocol with a linguist"),
    "fool-me-twice": Source("pairs", "Apache-2.0", True, "claims written to fool people"),
    "factcg": Source("pairs", "MIT", True, "one document with and without the support"),
    "factcheck-gpt": Source("pairs", "Apache-2.0", True, "claims and what the web says of them"),
    # Stage 2, labelled by people where nothing else is said
    "ragtruth_train_part": Source("385 answers", "MIT", True, "QA and summaries, exact spans"),
    "qa_feedback": Source("498 answers", "Apache-2.0", True, "QA over passages, exact spans"),
    "frank": Source("2,086 answers", "MIT", True, "news summaries; sentences where all are wrong"),
    "xsum_hallucination": Source(
        "1,112 answers", "CC BY 4.0; the articles are FRANK's, MIT", True, "spans two people marked"
    ),
    "summedits": Source(
        "934 answers", "Apache-2.0", True, "evaluation split; the edit marks the words"
    ),
    "quintd-gsmarena": Source("171 answers", "MIT", True, "phones, JSON"),
    "quintd-ice_hockey": Source("242 answers", "MIT", True, "games, JSON"),
    "quintd-openweather": Source("323 answers", "MIT", True, "forecasts, JSON; none is PASS"),
    "quintd-owid": Source("281 answers", "MIT", True, "charts, CSV"),
    "quintd-wikidata": Source(
        "272 answers, held back as an unseen source", "MIT", True, "lists of properties"
    ),
    "rotowire_accuracy": Source("87 answers", "CC0 1.0", True, "box scores; none is PASS"),
    "scitab": Source(
        "1,224 answers, held back as an unseen source", "MIT", True, "tables of papers"
    ),
    "e2e_cleaned": Source(
        "1,716 answers, 8,992 right answers", "CC BY-SA 4.0", True, "one text over two records"
    ),
    "halueval": Source(
        "114 answers", "MIT", True, "what is left once a wrong answer may be 1.3 times as long"
    ),
    "faithjudge": Source("2,989 answers", _NONE, False, "labelled by a model: weak"),
    "summeval": Source("1,520 answers", "MIT for the repository", False, "own terms not stated"),
    "entfa": Source("684 answers", _NONE, False, "unsupported entities"),
    "falke_sentence_pairs": Source("746 answers", _NONE, False, "right and wrong sentence"),
    "factscore_qcnli": Source("14,504 answers", "CC BY-NC 4.0", False, "facts over a page"),
    "webnlg2020_human": Source("2,119 answers", _NONE, False, "texts over triples"),
    # Right answers
    "pubmedqa": Source(
        "491 right answers", "MIT", True, "conclusions over abstracts; its 500 test rows left out"
    ),
    "covid_qa": Source("1,317 right answers", "Apache-2.0", True, "sentences of papers"),
    "xquad_en": Source("787 right answers", "CC BY-SA 4.0", True, "sentences of Wikipedia"),
    "tatqa": Source("901 right answers", "CC BY 4.0", True, "table and text of annual reports"),
    "fetaqa": Source("3,004 right answers", "CC BY-SA 4.0", True, "sentences over tables"),
    "hotpot_slice": Source("89 right answers", "MIT", True, "ten paragraphs a question"),
    # Read by no loader
    "aggrefact_unified": Source("not used", _NONE, False, "mostly FRANK's and XSum's rows again"),
    "anli_dev": Source("not used", "CC BY-NC 4.0", False, "made against other models"),
    "contract_nli": Source("not used", "Apache-2.0 for the repository", False, "17 claims only"),
    "dart": Source("not used", "MIT", False, "repeats e2e_cleaned and webnlg"),
    "dnc": Source("not used", _NONE, False, "template text"),
    "felm": Source("not used", "CC BY-NC-SA 4.0", False, "judged against the world, not a text"),
    "financebench": Source("not used", _NONE, False, "judged against the gold answer"),
    "healthver": Source("not used", _NONE, False, "short claims, of which stage 1 has enough"),
    "raghalu1_test": Source("not used", "CC BY-SA 4.0", False, "no label of support"),
    "rgb_en_fact": Source("not used", "CC BY-NC-SA 4.0", False, "100 bare phrases"),
    "semtabfact": Source("not used", _NONE, False, "claims over tables, as tabfact"),
    "webnlg": Source("not used", "CC BY-NC-SA 4.0", False, "right texts over triples"),
    "ragtruth_test": Source("test only", "MIT", False, _NEVER),
    "summedits, split test": Source("test only", "Apache-2.0", False, _NEVER),
    "faithbench": Source("test only", "CC BY-NC-SA 4.0", False, _NEVER),
    "halubench_sample": Source("test only", _NONE, False, _NEVER),
}


def licence_table() -> str:
    """Return the table in Markdown."""
    header = ("set", "used", "licence as stated", "shipped", "what it is")
    rows = (
        (name, row.use, row.licence, "yes" if row.shipped else "no", row.why)
        for name, row in SOURCES.items()
    )
    return table(header, rows, left=range(len(header)), form="tight")

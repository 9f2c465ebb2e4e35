"""The JSON that a reply is held to, as a grammar of llguidance, which llama.cpp and vLLM know.

With any white space allowed, a weak model could go on in it until its tokens are used up; without
any, a model that was never trained on such JSON loses its thread (docs/results, base rates). So the
blank behind a colon or a comma is written throughout or not at all, as the reply's first decides.
"""

import json
from collections.abc import Mapping
from typing import Any

_FORMS: dict[str, dict[str, str]] = {
    "compact": {},
    "spaced": {"key_separator": ": ", "item_separator": ", "},
}


def json_grammar(schema: Mapping[str, Any]) -> str:
    """Return the grammar of the JSON that obeys the schema, in either form."""
    rules = [f"%llguidance {{}}\nstart: {' | '.join(_FORMS)}"]
    for name, separators in _FORMS.items():
        options = {"whitespace_flexible": False, **separators}
        rules.append(f"{name}: %json {json.dumps({**schema, 'x-guidance': options})}")
    return "\n".join(rules)

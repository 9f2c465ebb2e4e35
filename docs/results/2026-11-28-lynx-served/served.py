"""Ask a gateway for verdicts as a chat model, sixteen calls at once, and compare them with verdicts on file.

    python served.py URL ROWS.jsonl VERDICTS.jsonl > compared.json

The rows' order is that of the verdicts. The reply's text is Lynx's JSON; the raw score comes from the gateway's own route.
"""

import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
from openai import APIStatusError, OpenAI

url, rows, verdicts = sys.argv[1:4]
client = OpenAI(base_url=url, api_key="none", timeout=3600, max_retries=0)
asked = [json.loads(line) for line in open(rows, encoding="utf-8")]
filed = [json.loads(line) for line in open(verdicts, encoding="utf-8")]
model = client.models.list().data[0].id


def ask(row):
    given = {name: row[name] for name in ("question", "context", "answer") if name in row}
    asking = [{"role": "user", "content": json.dumps(given, ensure_ascii=False)}]
    began = time.perf_counter()
    try:
        reply = client.chat.completions.create(model=model, messages=asking)
    except APIStatusError as error:
        return {"SCORE": str(error)}, {"raw_score": None}, time.perf_counter() - began
    seconds = time.perf_counter() - began
    record = httpx.post(f"{url}/judge", json=given, timeout=3600).raise_for_status().json()
    return json.loads(reply.choices[0].message.content), record, seconds


began = time.perf_counter()
with ThreadPoolExecutor(16) as pool:
    found = list(pool.map(ask, asked))
seconds = time.perf_counter() - began
compared = [
    {
        "id": row["id"],
        "label": row["label"],
        "said": said["SCORE"],
        "filed": on_file["score"],
        "raw": record.get("raw_score"),
        "raw_filed": on_file["raw_score"],
    }
    for row, (said, record, _), on_file in zip(asked, found, filed, strict=True)
]
apart = [abs(one["raw"] - one["raw_filed"]) for one in compared if one["raw"] is not None]
json.dump(
    {
        "model": model,
        "rows": len(compared),
        "other_verdict": sum(one["said"] != one["filed"] for one in compared),
        "raw_apart": [max(apart), sum(apart) / len(apart)] if apart else None,
        "seconds": seconds,
        "of_a_call": sorted(time for _, _, time in found)[len(found) // 2],
        "compared": compared,
    },
    sys.stdout,
    indent=1,
)

"""A small data folder in the layouts of the six sources, and sets built of it; all is made up."""

import gzip
import hashlib
import json

from moonlynx.halubench.build import build, hash_against
from moonlynx.halubench.halves import RulePerturber
from moonlynx.halubench.manifest import Plan, read_manifest
from moonlynx.halubench.sources import covid_qa, financebench, halueval, pubmedqa, ragtruth

ROWS = 149  # a hundredth of the benchmark

_TOWNS = ("Altdorf", "Bergen", "Cadiz", "Delft", "Evora", "Faro", "Ghent", "Imola", "Jena", "Lund")
_NAMES = ("Amado", "Brecht", "Castro", "Dumont", "Fabre", "Gallo", "Huber", "Ibsen", "Keller")
_TOPICS = ("bridge", "tunnel", "harbour", "museum", "library", "theatre", "stadium", "castle")
# Each file's constant, whose hash is that of the published file.
_PUBLISHED = (
    (financebench, "_FILE"),
    (covid_qa, "_FILE"),
    (pubmedqa, "_FILE"),
    (pubmedqa, "_TEST_KEYS"),
    (halueval, "_SAMPLE"),
    (halueval, "_ONE_TURN"),
    (halueval, "_MULTI_TURN"),
)


def sentence(number, step=0):
    """Return a sentence that only this number's text holds, with a number and names to change."""
    n = number * 3 + step
    town, name, topic = (words[n % len(words)] for words in (_TOWNS, _NAMES, _TOPICS))
    return (
        f"In case {n + 100} the {topic} of {town} cost {n * 7 + 11} million euros, was larger than "
        f"planned by {name}, and opened after {n * 5 + 13} months of works."
    )


def text(number, sentences=3):
    return " ".join(sentence(number, step) for step in range(sentences))


def answer(number):
    return f"It cost {number * 21 + 11} million euros and was larger than planned."


def question(number):
    return f"What did case {number * 3 + 100} cost, and how large was it?"


def write(root, path, content):
    target = root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    raw = content.encode()
    target.write_bytes(gzip.compress(raw, mtime=0) if target.suffix == ".gz" else raw)


def lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def write_data(root):
    write(
        root,
        "financebench/financebench_open_source.jsonl",
        lines(
            {
                "financebench_id": f"fb_{n}",
                "doc_name": f"REPORT_{n // 2}",
                "question": question(n),
                "answer": answer(n),
                "evidence": [{"evidence_text": text(n)}],
            }
            for n in range(12)
        ),
    )
    write_drop(root)
    write(root, "covid_qa/200423_covidQA.json.gz", json.dumps({"data": [_papers()]}))
    write(root, "pubmedqa/ori_pqal.json.gz", json.dumps(_pubmed()))
    write(root, "pubmedqa/test_ground_truth.json", json.dumps({str(n): "yes" for n in range(14)}))
    write(root, "halueval/qa_sample200_conformaldrift.json", json.dumps(_halueval_sample()))
    generated = [_halueval_generated(n) for n in range(350, 400)]
    write(root, "halueval/qa_one-turn_data.json", lines(generated))
    write(root, "halueval/qa_multi-turn_data.json", lines(generated))
    write(root, "ragtruth_test/ragtruth_test.jsonl.gz", lines(_ragtruth(500, 14)))
    write(root, "ragtruth_train_part/ragtruth_train_part.jsonl.gz", lines(_ragtruth(600, 60)))


def write_drop(root):
    """Write the one source whose files need no published hash, and that nothing is left out."""
    write(root, "exclude_from_training.json", json.dumps({"note": "none", "all": {}}))
    for split, first in (("dev", 100), ("train", 200)):
        write(root, f"drop/drop_dataset_{split}.json", json.dumps(_drop(first)))


def _drop(first):
    date = {"day": "", "month": "", "year": ""}
    return {
        f"passage_{n}": {
            "passage": text(n),
            "qa_pairs": [
                {
                    "query_id": f"drop-{n}",
                    "question": question(n),
                    "answer": {"number": str(n * 21 + 11), "date": date, "spans": []},
                }
            ],
        }
        for n in range(first, first + 40)
    }


def _papers():
    papers = []
    for n in range(1000, 1400, 10):
        before, after = (("\n\n".join(text(n + at) for at in part)) for part in ((1, 2, 3), (4, 5)))
        context = f"{before}\n\n{sentence(n)}\n\n{after}"
        start = context.index("In case", len(before))
        qas = {
            "id": n,
            "question": question(n),
            # As in the published file, some offsets are a few characters off.
            "answers": [{"text": sentence(n) + " ", "answer_start": start + n % 3}],
        }
        papers.append({"document_id": n, "context": context, "qas": [qas]})
    return {"paragraphs": papers}


def _pubmed():
    return {
        str(n): {
            "QUESTION": question(n + 2000),
            "CONTEXTS": [sentence(n + 2000), sentence(n + 2000, 1)],
            "LONG_ANSWER": answer(n + 2000),
            "final_decision": ("yes", "no", "maybe")[n % 3],
        }
        for n in range(60)
    }


def _halueval_sample():
    return [
        {"query": question(n), "documents": [text(n)], "response": answer(n), "label": n % 2}
        for n in range(300, 360)
    ]


def _halueval_generated(n):
    return {
        "knowledge": text(n),
        "question": question(n),
        "right_answer": answer(n),
        "hallucinated_answer": "Nobody knows what it cost.",
    }


def _ragtruth(first, count):
    for n in range(first, first + count):
        said = answer(n)
        span = {"start": 0, "end": 7, "text": said[:7], "label_type": "Conflict", "meta": "no"}
        yield {
            "source_id": n,
            "task_type": "QA",
            "model": "a-model",
            "question": question(n),
            "context": f"passage 1:{sentence(n)}\n\npassage 2:{sentence(n, 1)}\n\n",
            "response": said,
            "labels": [span] if n % 3 == 0 else [],
        }


def expect_these_files(root, patch):
    """Let the sources expect the hashes of these files instead of the published ones."""
    for module, name in _PUBLISHED:
        patch(module, name, _hashed(root, getattr(module, name)))
    files = {split: _hashed(root, file) for split, file in ragtruth._FILES.items()}
    patch(ragtruth, "_FILES", files)


def _hashed(root, file):
    plain, zipped = root / file.path, root / f"{file.path}.gz"
    content = plain.read_bytes() if plain.exists() else gzip.decompress(zipped.read_bytes())
    return file._replace(sha256=hashlib.sha256(content).hexdigest())


def build_set(data, output, against=(), perturber=None, **fields):
    asked = {"split": "test", "rows": ROWS, "seed": 0, "contexts": "whole", "data": "folder"}
    plan = Plan(**{**asked, "perturber": "rules", "against": hash_against(against), **fields})
    build(plan, data, perturber or RulePerturber(plan.seed), output, against)
    return read_manifest(output)

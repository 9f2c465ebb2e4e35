import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("lm_eval", reason="needs the package lm-eval")

from lm_eval import simple_evaluate
from lm_eval.api.model import LM
from lm_eval.tasks import TaskManager

pytestmark = [pytest.mark.heavy, pytest.mark.filterwarnings("default")]


class OnlyRome(LM):
    """Passes what is about Rome, fails what is about Paris, and has no verdict on the rest."""

    def generate_until(self, requests, disable_tqdm=False):
        return [self.reply(request.args[0]) for request in requests]

    def reply(self, prompt):
        if "Rome" in prompt:
            return '{"REASONING": ["It is there."], "SCORE": "PASS"}'
        if "Paris" in prompt:
            return '{"REASONING": ["It is not there."], "SCORE": "FAIL"}'
        return "I would rather not say."

    def loglikelihood(self, requests, disable_tqdm=False):
        raise NotImplementedError

    def loglikelihood_rolling(self, requests, disable_tqdm=False):
        raise NotImplementedError


def test_the_harness_marks_verdicts(tmp_path):
    gold = {"Rome": "PASS", "Paris": "FAIL", "Paris 2": "PASS", "Oslo": "PASS"}
    rows = [
        {"id": city, "context": f"She lives in {city}.", "answer": "She lives.", "label": label}
        for city, label in gold.items()
    ]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    command = [sys.executable, "-m", "moonlynx.serve.integrations.lm_eval"]
    folder = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    assert (Path(folder) / "halubench.yaml").exists()
    tasks = TaskManager(
        include_path=folder, include_defaults=False, metadata={"benchmark": str(path)}
    )
    found = simple_evaluate(OnlyRome(), tasks=["halubench"], task_manager=tasks, bootstrap_iters=0)
    marks = found["results"]["halubench"]
    assert marks["acc,none"] == 0.5
    assert marks["unscored,none"] == 0.25

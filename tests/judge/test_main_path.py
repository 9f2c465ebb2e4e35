"""The way of a row, as the folder names tell it: cli, batch, judge, verdict."""

import inspect
from pathlib import Path

from moonlynx.judge import examples
from moonlynx.judge.judges.detectors.token_similarity import TokenSimilarity

from ..command import moonlynx

ROWS = Path(examples.__file__).with_name("answers.jsonl")


def test_a_row_goes_from_cli_through_batch_to_the_judge_and_its_verdict(tmp_path, monkeypatch):
    judge, ways = TokenSimilarity.__call__, []

    def look(self, batch):
        files = [Path(frame.filename) for frame in reversed(inspect.stack())]
        rooms = [file.parent.name for file in files if file.parent.parent.name == "judge"]
        ways.append(list(dict.fromkeys(rooms)))
        return judge(self, batch)

    monkeypatch.setattr(TokenSimilarity, "__call__", look)
    output = tmp_path / "verdicts.jsonl"
    asked = ["judge", "--judge", "token-similarity", "--input", str(ROWS), "--output", str(output)]
    assert moonlynx(*asked).exit_code == 0
    # Around it the terminal, which shows errors; the contract runs a judge's steps.
    assert ways == [["terminal", "cli", "batch", "contract"]]
    assert output.read_bytes().count(b"\n") == ROWS.read_bytes().count(b"\n")

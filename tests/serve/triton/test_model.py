import json

import pytest

from moonlynx import Example, load_judge

from .standin import Request, ask, serving

LONG = " ".join(f"The {w} was red in 19{n:02d}." for n in range(40) for w in ("tower", "bridge"))
ANSWERS = ("The tower was red in 1932. The river is tin.", "It was red in 1901. The fee is 5.")
MADE = [json.dumps({"context": [LONG, "The fee is 5."], "answer": answer}) for answer in ANSWERS]


def verdicts(spec, rows):
    judged = load_judge(spec)([Example.from_row(json.loads(row)) for row in rows])
    return [verdict.model_dump_json() for verdict in judged]


@pytest.mark.heavy
def test_verdicts_are_those_of_the_judge_byte_for_byte(export, rows):
    folder, _ = export()
    with serving(folder) as (judge, server):
        assert ask(judge, *rows) == verdicts("luna", rows)
        assert len(server.calls) > len(rows)
        assert {shape[0] for shape in server.calls} == {1}


@pytest.mark.heavy
def test_batches_change_no_verdict_of_the_examples(export, rows):
    folder, _ = export("--batching")
    with serving(folder) as (judge, server):
        assert ask(judge, *rows) == verdicts("luna", rows)
        assert max(rows for rows, _ in server.calls) > 1
        assert {width for _, width in server.calls} <= {64, 128, 192, 256}


@pytest.mark.parametrize("step", ["--overlap", "--no-overlap"])
def test_calls_are_under_way_together_or_one_by_one(export, tiny, step):
    folder, _ = export("--judge", f"luna:{tiny}", step)
    with serving(folder) as (judge, server):
        assert ask(judge, *MADE) == verdicts(f"luna:{tiny}", MADE)
        assert len(server.calls) > 10
        expected = len(server.calls) if step == "--overlap" else 0
        assert server.most_under_way == expected


def test_what_is_no_example_and_a_failing_encoder_are_errors_of_their_own(export, tiny):
    folder, _ = export("--judge", f"luna:{tiny}")
    bad = [b"{", b" ", b"[]", b'{"context": "", "answer": "a", "id": 7}', b"\xff", b'{"answer": 1}']
    with serving(folder) as (judge, _):
        first, *unread, last = map(json.loads, ask(judge, MADE[0], *bad, MADE[1]))
    assert first["score"]
    assert last["score"]
    assert [verdict["score"] for verdict in unread] == [None] * len(bad)
    codes = [verdict["error"]["code"] for verdict in unread]
    assert codes == ["bad_input"] * 3 + ["empty_context"] + ["bad_input"] * 2
    assert unread[3]["id"] == 7
    assert "line 2" in unread[0]["error"]["message"]
    with serving(folder) as (judge, server):
        server.broken = "out of memory"
        failed, unread = judge.execute([Request(MADE[0]), Request(b"{")])
        assert failed.error().message() == "Triton's luna_encoder failed: out of memory"
        assert not unread.has_error()


@pytest.mark.heavy
def test_scores_of_another_window_have_no_probability(export):
    folder, _ = export("--window", "320")
    row = json.dumps({"context": "It opened in 1932.", "answer": "It opened in 1932."})
    with serving(folder) as (judge, _):
        (verdict,) = map(json.loads, ask(judge, row))
    assert verdict["score"] == "PASS"
    assert verdict["probability"] is None

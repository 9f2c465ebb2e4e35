from moonlynx import Verdict
from moonlynx.judge.contract.types import BadInput
from moonlynx.judge.rows.examples import Row
from moonlynx.serve.page.answers import Overview

JUDGE = {"name": "j", "version": "1"}


def overview(*probabilities, rows=None):
    found = Overview(rows or len(probabilities))
    for line, probability in enumerate(probabilities, start=1):
        verdict = {"score": "PASS", "probability": probability, "judge": JUDGE, "id": f"<{line}>"}
        found.add(Row(line, None, None), Verdict.model_validate(verdict))
    return found


def test_ids_are_escaped_long_tables_cut_and_faults_told_up_to_a_number():
    html = overview(*[0.5] * 203).render()
    assert html.count("<tr>") == 201
    assert "&lt;1&gt;" in html
    assert "The other 3 rows are in the download." in html
    found = Overview(30)
    for line in range(1, 31):
        error = {"code": "bad_input", "message": "x"}
        verdict = Verdict.model_validate({"score": None, "error": error, "judge": JUDGE})
        bad = BadInput("bad_input", f"line {line}, row", "is <odd>")
        found.add(Row(line, None, bad), verdict)
    html = found.render()
    assert html.count('role="alert"') == 20
    assert "line 20, row: is &lt;odd&gt;" in html
    assert "… and 10 more such rows." in html

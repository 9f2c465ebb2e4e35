from moonlynx.judge.files.stored import save_record
from moonlynx.recipes.luna.record import RECORD_FILE


def test_the_command_writes_the_card(
    card_command, weights, record, run_file, report_folder, tmp_path
):
    save_record(record, weights / RECORD_FILE)
    output = tmp_path / "README.md"
    code, out, error = card_command(
        weights=weights, run=run_file, report=report_folder, output=output
    )
    assert (code, out, error) == (0, f"Wrote {output}\n", "")
    text = output.read_text(encoding="utf-8")
    assert text.startswith("---\nbase_model: sentence-transformers/all-MiniLM-L6-v2\n")
    assert "\n# luna-small\n" in text


def test_what_is_missing_is_named(fault, weights, record, run_file, report_folder, tmp_path):
    options = {"weights": weights, "run": run_file, "report": report_folder}
    options["output"] = tmp_path / "README.md"
    missing = "training.json: No such file or directory; `moonlynx train luna` writes it"
    assert missing in fault(**options)
    save_record(record, weights / RECORD_FILE)
    said = fault(**(options | {"report": tmp_path}))
    assert f"error: cannot read {tmp_path / 'report.json'}" in said
    assert "none.yaml" in fault(**(options | {"run": tmp_path / "none.yaml"}))
    assert not (tmp_path / "README.md").exists()

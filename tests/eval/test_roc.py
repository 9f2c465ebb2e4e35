import json
import xml.etree.ElementTree as ET

from typer.testing import CliRunner

from moonlynx.eval.roc import app, draw_roc


def test_curves_are_drawn_with_the_area_under_them(tmp_path):
    curves = {"head": [[0, 0], [0, 0.5], [0.5, 1], [1, 1]], "chance": [[0, 0], [1, 1]]}
    file, output = tmp_path / "curves.json", tmp_path / "roc.svg"
    file.write_text(json.dumps(curves))
    command = [str(file), "--output", str(output), "--title", "Tone"]
    assert CliRunner().invoke(app, command).exit_code == 0
    svg = output.read_text()
    texts = [each.text for each in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]
    assert "head (AUROC 0.875)" in texts
    assert "chance (AUROC 0.500)" in texts
    assert draw_roc({name: [tuple(p) for p in c] for name, c in curves.items()}, "Tone") == svg


def test_a_file_without_curves_is_refused_by_its_field(tmp_path):
    file = tmp_path / "curves.json"
    file.write_text(json.dumps({"head": [[0, 2]]}))
    done = CliRunner().invoke(app, [str(file), "--output", str(tmp_path / "o"), "--title", "T"])
    assert done.exit_code == 2
    assert "head.0.1" in done.output

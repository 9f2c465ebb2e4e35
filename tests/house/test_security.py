"""Every test that SECURITY.md names as holding an attack exists."""

import re


def test_the_tests_named_exist(root):
    text = (root / "SECURITY.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", text)
    assert len(named) > 30
    for path, test in named:
        source = (root / path).read_text(encoding="utf-8")
        assert not test or f"def {test}(" in source, f"{path}::{test}"

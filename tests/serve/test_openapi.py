"""The server keeps what its OpenAPI says, whatever is sent: schemathesis tries."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from moonlynx.serve.audit.recorder import AuditSettings
from moonlynx.serve.service import Settings

from .loopback import serving

pytestmark = pytest.mark.heavy


def test_the_server_keeps_what_its_openapi_says(tmp_path):
    program = Path(sys.executable).with_name("schemathesis")
    if not program.exists():
        pytest.skip("schemathesis is not installed")
    checks = "not_a_server_error,status_code_conformance,content_type_conformance"
    checks += ",response_schema_conformance,negative_data_rejection"
    audit = AuditSettings(f"sqlite:///{tmp_path / 'audit.db'}")
    with serving(settings=Settings(jobs=tmp_path / "jobs", audit=audit)) as address:
        command = [program, "run", f"{address}/openapi.json", "--checks", checks]
        command += ["--max-examples", "25", "--phases", "examples,coverage,fuzzing"]
        command += ["--generation-deterministic", "--request-timeout", "30"]
        done = subprocess.run(
            command,
            cwd=tmp_path,
            env=os.environ | {"NO_COLOR": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-1000:]

import os
import pwd
import shutil
import subprocess
from pathlib import Path

import pytest

from ..loopback import free_port


@pytest.fixture
def sqlite(tmp_path):
    return f"sqlite:///{tmp_path / 'audit.db'}"


@pytest.fixture(scope="session")
def postgres():
    pytest.importorskip("psycopg", reason="the driver psycopg is not installed")
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    found = shutil.which("initdb") or next(map(str, reversed(versions)), None)
    if found is None:
        pytest.skip("PostgreSQL is not installed")
    programs, options = Path(found).parent, {}
    if os.geteuid() == 0:  # as whom it does not run
        if "postgres" not in {user.pw_name for user in pwd.getpwall()}:
            pytest.skip("PostgreSQL does not run as root, and there is no user postgres")
        options = {"user": "postgres", "cwd": "/"}
    # Not under pytest's folder, which another user may not enter.
    folder = Path(subprocess.check_output(["mktemp", "-d"], text=True, **options).strip())
    port = free_port()
    quiet = options | {"check": True, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    data = ["-D", folder / "data"]
    subprocess.run([programs / "initdb", *data, "--auth=trust", "-U", "postgres"], **quiet)
    settings = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder}"
    start = ["-w", "-l", folder / "log", "-o", settings, "start"]
    subprocess.run([programs / "pg_ctl", *data, *start], **quiet)
    yield f"postgresql+psycopg://postgres@127.0.0.1:{port}/postgres"
    subprocess.run([programs / "pg_ctl", *data, "-w", "-m", "immediate", "stop"], **quiet)
    shutil.rmtree(folder)


@pytest.fixture
def empty_postgres(postgres):
    import sqlalchemy as sa

    engine = sa.create_engine(postgres)
    with engine.begin() as connection:
        connection.execute(sa.text("DROP TABLE IF EXISTS moonlynx_feedback, moonlynx_verdicts"))
    engine.dispose()
    return postgres

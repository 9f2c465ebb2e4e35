import signal

import httpx
import pytest

from moonlynx.halubench.annotate.store import Store

pytestmark = pytest.mark.heavy

LABELS = {"sentence-1": "SUPPORTED", "sentence-2": "SUPPORTED", "label": "PASS"}


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 0), (signal.SIGKILL, -signal.SIGKILL)]
)
def test_what_was_labelled_is_kept_however_the_server_ends(
    number, code, server, address, file, database
):
    form = httpx.post(
        f"{address}annotators/Anna/rows/1/labels",
        data=LABELS,
        headers={"Origin": address.rstrip("/")},
    )
    assert form.status_code == 303
    assert form.headers["Location"].endswith("/annotators/Anna/rows/2")
    server.send_signal(number)
    assert server.wait(20) == code
    assert Store(database, file).find("Anna", 1).label == "PASS"

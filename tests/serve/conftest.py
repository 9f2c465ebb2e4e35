import pytest

from .loopback import calling


@pytest.fixture(scope="session")
def client():
    with calling() as client:
        yield client

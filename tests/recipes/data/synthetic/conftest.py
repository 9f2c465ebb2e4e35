import pytest

from moonlynx.recipes.data.synthetic import generate


@pytest.fixture(scope="session")
def answers():
    """Return enough answers that every schema, form and error occurs."""
    return list(generate(4000, seed=11))

import pytest

from ...one_thread import one_thread  # noqa: F401 - a fixture of all tests here
from .tiny_heads import build_head


@pytest.fixture(scope="session")
def heads(tiny_llama, tmp_path_factory):
    """Give folders of random heads on the tiny Llama, by metric."""
    folder = tmp_path_factory.mktemp("heads")
    metrics = ("toxicity", "sexism", "tone", "pii", "context_adherence")
    return {
        metric: build_head(folder / metric, tiny_llama, metric, seed)
        for seed, metric in enumerate(metrics)
    }

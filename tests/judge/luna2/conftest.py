import pytest

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


@pytest.fixture(autouse=True)
def one_thread(request):
    if request.node.get_closest_marker("heavy") is None:
        yield
        return
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # a second costs more in waiting than so small a model gains
    yield
    torch.set_num_threads(threads)

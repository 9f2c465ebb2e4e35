"""A fixture for tests that train or run a model too small to gain from a second thread."""

import pytest


@pytest.fixture(autouse=True)
def one_thread(request):
    """Run torch on one thread in a heavy test; restore its setting afterwards."""
    if request.node.get_closest_marker("heavy") is None:
        yield
        return
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # a second costs more in waiting than so small a model gains
    yield
    torch.set_num_threads(threads)

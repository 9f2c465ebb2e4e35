import gc
import os
import shutil
import weakref

import numpy as np
import pytest

from moonlynx.judge.backends.onnx_encoder import OnnxEncoder
from moonlynx.judge.judges.luna.weights import EMBEDDED, MINI

ALLOWED = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1


def threads(encoder):
    return encoder._session.get_session_options().intra_op_num_threads


def inputs():
    """Yield inputs of many lengths: short ones are not shared out among threads."""
    rng = np.random.default_rng(11)
    for length in (3, 17, 64, 200, 511):
        ids = rng.integers(1_000, 20_000, length)
        yield ids, (np.arange(length) > length // 2).astype(np.int64)


@pytest.mark.heavy
def test_the_output_is_the_same_bytes_by_any_number_of_threads(monkeypatch):
    found = set()
    for count in (1, 2, 3):
        monkeypatch.setenv("OMP_NUM_THREADS", str(count))
        encoder = OnnxEncoder(EMBEDDED[MINI])
        assert threads(encoder) == count
        outputs = encoder.encode(list(inputs()))
        found.add(b"".join(one.tokens.tobytes() + repr(one.claim).encode() for one in outputs))
    assert len(found) == 1


def test_encoders_of_the_same_weights_hold_them_once(tmp_path, monkeypatch):
    folders = tmp_path / "one", tmp_path / "other"
    for folder in folders:
        shutil.copytree(EMBEDDED[MINI], folder)
    monkeypatch.setenv("OMP_NUM_THREADS", "4")  # as no other test
    first, second = (OnnxEncoder(folder) for folder in folders)
    assert second._session is first._session
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    assert OnnxEncoder(folders[0])._session is not first._session
    held = weakref.ref(first._session)
    del first, second
    gc.collect()
    assert held() is None


@pytest.mark.parametrize("asked", [None, "", "many", "4,2"])
def test_without_a_number_it_takes_what_there_is(monkeypatch, asked):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if asked is not None:
        monkeypatch.setenv("OMP_NUM_THREADS", asked)
    monkeypatch.setattr(os, "cpu_count", lambda: ALLOWED)
    assert threads(OnnxEncoder(EMBEDDED[MINI])) == 0


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="only Linux says what is allowed")
def test_no_thread_runs_on_a_core_that_is_not_allowed(monkeypatch):
    """A container may be given a few of the node's cores, and onnxruntime counts all."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: ALLOWED + 6)
    assert threads(OnnxEncoder(EMBEDDED[MINI])) == ALLOWED

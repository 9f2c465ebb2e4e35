import pytest

from moonlynx.judge.backends.base import BackendError
from moonlynx.judge.backends.chat import load_chat_backend
from moonlynx.judge.contract.spec import SpecError

from ...cases import cases

URL = "http://127.0.0.1:9/v1"


@pytest.mark.parametrize(("backend", "known"), cases(__file__, "known_options"))
def test_an_unknown_option_is_named_with_those_that_exist(backend, known):
    with pytest.raises(SpecError, match=f"no option 'loud'; it has {known}$"):
        load_chat_backend(backend, "m", {"loud": "yes"})


@pytest.mark.parametrize(("backend", "option", "value", "allowed"), cases(__file__, "wrong_values"))
def test_a_wrong_value_is_named_with_what_is_allowed(backend, option, value, allowed):
    with pytest.raises(SpecError, match=f"option {option}={value}: .*{allowed}"):
        load_chat_backend(backend, "m", {option: value})


def test_an_unknown_backend_is_named():
    with pytest.raises(
        SpecError, match="'onnx'; use one of fake, transformers, llamacpp, vllm or an http"
    ):
        load_chat_backend("onnx", None, {})


@pytest.mark.parametrize("backend", ["transformers", "llamacpp", "vllm"])
def test_a_local_model_must_be_named_and_there(backend, tmp_path):
    with pytest.raises(SpecError, match="needs a model"):
        load_chat_backend(backend, None, {})
    with pytest.raises(BackendError, match=f"there is no model at {tmp_path}/none"):
        load_chat_backend(backend, f"{tmp_path}/none", {})

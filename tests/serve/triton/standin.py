"""What Triton's Python backend gives a model, as far as ours uses it: it comes with Triton alone.

Calls to other models run the repository's own `model.onnx`, held to the names, types, shapes and
batch size that its `config.pbtxt` says, as Triton holds them. `tritonserver_test` runs the same
repository in a real Triton where there is one.
"""

import asyncio
import sys
from contextlib import contextmanager
from functools import cache
from types import ModuleType

import numpy as np
import onnxruntime
import pytest
from google.protobuf import json_format, text_format

messages = pytest.importorskip(
    "tritonclient.grpc.model_config_pb2", reason="needs Triton's client: pip install tritonclient"
)

NUMPY = {"TYPE_INT64": np.int64, "TYPE_FP32": np.float32, "TYPE_STRING": np.object_}


def read_config(model):
    return text_format.Parse((model / "config.pbtxt").read_text(), messages.ModelConfig())


class Tensor:
    def __init__(self, name, array):
        self._name, self._array = name, array

    def name(self):
        return self._name

    def as_numpy(self):
        return self._array


class TritonError:
    def __init__(self, message):
        self._message = message

    def message(self):
        return self._message


class InferenceResponse:
    def __init__(self, output_tensors=(), error=None):
        self._tensors, self._error = list(output_tensors), error

    def output_tensors(self):
        return self._tensors

    def has_error(self):
        return self._error is not None

    def error(self):
        return self._error


class Server:
    """The models of a repository; `calls` are the shapes that the encoder was called with."""

    def __init__(self, repository):
        self.repository = repository
        self.calls = []
        self.under_way = self.most_under_way = 0
        self.broken = None  # the message of an encoder that fails

    def infer(self, model_name, names, tensors):
        if self.broken:
            return InferenceResponse(error=TritonError(self.broken))
        model = self.repository / model_name
        config = read_config(model)
        for tensor, said in zip(tensors, config.input, strict=True):
            _check(tensor, said, config.max_batch_size)
        self.calls.append(tensors[0].as_numpy().shape)
        session = self._session(model_name)
        found = session.run(names, {tensor.name(): tensor.as_numpy() for tensor in tensors})
        by_name = {said.name: said for said in config.output}
        outputs = []
        for name, array in zip(names, found, strict=True):
            if by_name[name].HasField("reshape"):
                array = array.reshape(len(array), *by_name[name].dims)
            outputs.append(Tensor(name, array))
            _check(outputs[-1], by_name[name], config.max_batch_size)
        return InferenceResponse(outputs)

    @cache  # noqa: B019 - as short-lived as the test
    def _session(self, model_name):
        path = self.repository / model_name / "1" / "model.onnx"
        return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])


def _check(tensor, said, most):
    array = tensor.as_numpy()
    assert tensor.name() == said.name
    assert array.dtype == NUMPY[messages.DataType.Name(said.data_type)], said.name
    assert 1 <= len(array) <= most, said.name
    assert array.ndim == 1 + len(said.dims), said.name
    assert all(said in (-1, size) for said, size in zip(said.dims, array.shape[1:], strict=True))


def backend(server):

    class InferenceRequest:
        def __init__(self, *, model_name, requested_output_names, inputs, preferred_memory):
            assert preferred_memory == ("memory", 0, 0)
            self._wanted = (model_name, requested_output_names, inputs)

        def exec(self):
            return server.infer(*self._wanted)

        async def async_exec(self):
            server.under_way += 1
            server.most_under_way = max(server.most_under_way, server.under_way)
            await asyncio.sleep(0)
            response = self.exec()
            server.under_way -= 1
            return response

    module = ModuleType("triton_python_backend_utils")
    module.Tensor, module.TritonError = Tensor, TritonError
    module.InferenceRequest, module.InferenceResponse = InferenceRequest, InferenceResponse
    module.TRITONSERVER_MEMORY_CPU = 0
    module.PreferredMemory = lambda kind, device: ("memory", kind, device)
    module.get_input_tensor_by_name = lambda request, name: _named(request.inputs(), name)
    module.get_output_tensor_by_name = lambda response, name: _named(
        response.output_tensors(), name
    )
    return module


def _named(tensors, name):
    return next(tensor for tensor in tensors if tensor.name() == name)


class Request:
    def __init__(self, *texts):
        texts = [text.encode() if isinstance(text, str) else text for text in texts]
        self._tensors = [Tensor("EXAMPLE", np.array(texts, dtype=object).reshape(-1, 1))]

    def inputs(self):
        return self._tensors


@contextmanager
def serving(folder):
    server = Server(folder / "models")
    model = server.repository / "luna"
    sys.modules["triton_python_backend_utils"] = backend(server)
    try:
        code = {}
        exec(compile((model / "1" / "model.py").read_text(), "model.py", "exec"), code)
        judge = code["TritonPythonModel"]()
        config = json_format.MessageToJson(read_config(model), preserving_proto_field_name=True)
        judge.initialize(
            {"model_config": config, "model_repository": str(model), "model_version": "1"}
        )
        yield judge, server
    finally:
        del sys.modules["triton_python_backend_utils"]


def ask(judge, *texts):
    (response,) = judge.execute([Request(*texts)])
    assert not response.has_error(), response.error().message()
    (tensor,) = response.output_tensors()
    assert tensor.name() == "VERDICT"
    return [text.decode() for text in tensor.as_numpy().ravel()]

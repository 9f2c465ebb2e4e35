"""A causal language model in this process, by Hugging Face Transformers in 32, 16, 8 or 4 bits."""

import json
import logging
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, TypeVar

from ..contract.spec import SpecError
from ..contract.types import JudgeError
from .base import BackendError, MissingExtra
from .gguf import find_gguf, is_gguf, parts_of
from .hub import split_revision
from .local import find_folder, fingerprint, locate_folder
from .options import Reader, one_of, whole

log = logging.getLogger(__name__)
Job = TypeVar("Job")
Reply = TypeVar("Reply")
# PEFT's names
ADAPTER_CONFIG, ADAPTER_WEIGHTS = "adapter_config.json", "adapter_model.safetensors"


class Pretrained:
    """A loaded model, and what every use of it needs.

    Attributes:
        name: of model and backend.
        weights: the hash that identifies them.
        positions: tokens that prompt and reply may have.
    """

    READERS: ClassVar[Mapping[str, Reader]] = {
        "device": one_of("auto", "cpu", "cuda"),
        "load": one_of("auto", "fp32", "bf16", "fp16", "int8", "nf4"),
        "batch": whole(1),
    }

    def __init__(
        self, model: str, *, device: str = "auto", load: str = "auto", batch: int = 1
    ) -> None:
        """Load the model.

        Args:
            model: a folder or a Hub id, or a GGUF file, whose weights are dequantised first.
            device: "cpu", "cuda" (the first GPU), or "auto": all GPUs where there are any.
            load: "fp32", "bf16" or "fp16"; "int8" or "nf4", quantised by bitsandbytes; or "auto",
                the checkpoint's own.
            batch: requests computed together. "int8" takes one: it picks the columns that it keeps
                in 16 bits over a whole batch.

        Raises:
            MissingExtra: torch, transformers or bitsandbytes is missing.
            BackendError: the model cannot be loaded; says why.
            SpecError: int8 was asked for in batches.
        """
        if load == "int8" and batch > 1:
            raise SpecError("load=int8 mixes the rows of a batch; use batch=1 or another load")
        try:
            import torch
            import transformers  # noqa: F401 (needed below)

            if is_gguf(model):
                import gguf  # noqa: F401 (likewise)
            if load in ("int8", "nf4"):
                import bitsandbytes  # noqa: F401 (Transformers would say less well that it is missing)
        except ImportError as error:
            raise MissingExtra("the transformers backend", "transformers") from error
        if device == "cuda" and not torch.cuda.is_available():
            raise BackendError("device=cuda: torch finds no GPU")
        try:
            self._model = load_weights(model, device, load).eval()
        except BackendError:
            raise
        except Exception as error:  # whatever a broken checkpoint makes the libraries raise
            raise BackendError(f"cannot load {model}: {error}") from error
        self.name = f"{split_revision(model)[0]}@transformers"
        self.weights = fingerprint(*weight_files(model))
        config = self._model.config.get_text_config()
        self.positions: int = getattr(config, "max_position_embeddings", None) or 1 << 30
        self._batch = batch
        self._lock = threading.Lock()
        self._torch = torch


def run_safely(
    run: Callable[[list[Job]], list[Reply]],
    group: list[Job],
    failed: Callable[[JudgeError], Reply],
) -> list[Reply]:
    """Run jobs together, and one by one where that fails, as when memory runs out."""
    try:
        return run(group)
    except RuntimeError as error:
        if len(group) == 1:
            return [failed(JudgeError(code="backend", message=str(error)[:500]))]
    return [reply for job in group for reply in run_safely(run, [job], failed)]


def load_weights(model: str, device: str, load: str) -> Any:
    """Load a causal language model from safetensors, running no code of its own.

    Args:
        model: a folder or a Hub id.
        device: as of `Pretrained`; "auto" spreads the model over all GPUs where there are any.
        load: likewise; "auto" is the checkpoint's own. On a processor where half
            precision is slow, "nf4" multiplies in fp32, and one of 16 bits is warned of.
    """
    import torch
    from transformers import BitsAndBytesConfig

    on_gpu = device != "cpu" and torch.cuda.is_available()
    half = torch.float16 if on_gpu and not torch.cuda.is_bf16_supported() else torch.bfloat16
    slow = not on_gpu and half_is_slow()
    settings: dict[str, dict[str, Any]] = {
        "auto": {"dtype": "auto"},
        "fp32": {"dtype": torch.float32},
        "bf16": {"dtype": torch.bfloat16},
        "fp16": {"dtype": torch.float16},
        # bitsandbytes multiplies its int8 weights with fp16 activations.
        "int8": {
            "dtype": torch.float16,
            "quantization_config": BitsAndBytesConfig(load_in_8bit=True),
        },
        "nf4": {
            "dtype": half,
            "quantization_config": nf4(torch.float32 if slow else half),
        },
    }
    place: str | dict[str, str] = {"": "cuda:0" if on_gpu else "cpu"}
    if on_gpu and device == "auto":
        place = "auto"
    network = load_causal(model, device_map=place, **settings[load])
    if slow and load not in ("int8", "nf4") and network.dtype.itemsize < 4:
        log.warning(
            "%s: this processor has no instructions for 16 bits; load=fp32 reads prompts several "
            "times as fast, in twice the memory",
            model,
        )
    return network


def half_is_slow() -> bool:
    """Return whether bf16 or fp16 products take several times as long as fp32 on this processor."""
    import torch

    return torch.backends.cpu.get_cpu_capability() in ("DEFAULT", "AVX2")


def nf4(multiplied: Any) -> Any:
    """Return the settings of weights in nf4 (Dettmers et al. 2023), multiplied in a torch dtype."""
    from transformers import BitsAndBytesConfig

    return BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=multiplied,
    )


def load_causal(model: str | Path, **options: Any) -> Any:
    """Load a causal language model from safetensors, running no code of its own.

    A multimodal one (as Ministral 3 is) is loaded whole: the names in its checkpoint are
    those of the whole.

    Args:
        model: a folder or a Hub id, of a model or of adapters on one, or a GGUF file.
        options: for Transformers' `from_pretrained`.
    """
    source = source_of(str(model))
    if has_adapters(folder := Path(source["pretrained_model_name_or_path"])):
        return load_adapted(folder, **options).get_base_model()
    if "gguf_file" in source:
        return _load_gguf(source, **options)
    return _load(source, **options)


def _load(source: Mapping[str, Any], **options: Any) -> Any:
    from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForImageTextToText

    config = AutoConfig.from_pretrained(**source)
    kind = AutoModelForImageTextToText if can_see(config) else AutoModelForCausalLM
    return kind.from_pretrained(**source, config=config, use_safetensors=True, **options)


def _load_gguf(
    source: Mapping[str, Any], *, quantization_config: Any = None, **options: Any
) -> Any:
    network = _load(source, **options)
    # It is dequantised, but still says that it is not, and so could not be trained on.
    network.hf_quantizer, network.is_quantized = None, False
    del network.config.quantization_config
    if quantization_config is None:
        return network
    with TemporaryDirectory() as folder:  # quantised anew is only what is loaded from a checkpoint
        network.save_pretrained(folder)
        return load_causal(folder, quantization_config=quantization_config, **options)


def has_adapters(folder: Path) -> bool:
    """Return whether a folder holds adapters in place of a model."""
    return (folder / ADAPTER_WEIGHTS).is_file()


def load_adapted(folder: Path, **options: Any) -> Any:
    """Load adapters on the model that they name, as PEFT's model; options as of `load_causal`."""
    from peft import PeftModel

    return PeftModel.from_pretrained(load_causal(read_base(folder), **options), folder)


def read_base(folder: Path) -> str:
    """Return the model that the adapters in a folder are for.

    Raises:
        BackendError: their settings cannot be read, or name none.
    """
    path = folder / ADAPTER_CONFIG
    try:
        return str(json.loads(path.read_bytes())["base_model_name_or_path"])
    except (OSError, ValueError, KeyError, TypeError):
        raise BackendError(
            f"{path} is no JSON object with a base_model_name_or_path; save the adapters anew"
        ) from None


def source_of(model: str) -> dict[str, Any]:
    """Return what tells Transformers' `from_pretrained` where a model is, be it in a GGUF file."""
    if is_gguf(model):
        file = find_gguf("transformers", model)
        source = {"pretrained_model_name_or_path": str(file.parent), "gguf_file": file.name}
    else:
        source = {"pretrained_model_name_or_path": str(find_folder("transformers", model))}
    return {**source, "trust_remote_code": False}


def weight_files(model: str) -> list[Path]:
    """Return the files that hold a model's weights: of adapters also the base's, those first."""
    if is_gguf(model):
        return parts_of(find_gguf("transformers", model))
    folder = locate_folder("transformers", model)  # loading it has compared it with its release
    if has_adapters(folder):
        return [*weight_files(read_base(folder)), folder / ADAPTER_CONFIG, folder / ADAPTER_WEIGHTS]
    return sorted(folder.glob("*.safetensors"))


def tokenizer_source(model: str) -> dict[str, Any]:
    """Return what tells Transformers where a model's tokenizer is: of adapters often the base's."""
    source = source_of(model)
    folder = Path(source["pretrained_model_name_or_path"])
    if has_adapters(folder) and not (folder / "tokenizer_config.json").is_file():
        return source_of(read_base(folder))
    return source


def can_see(config: Any) -> bool:
    """Return whether a model of this configuration reads more than text."""
    return config.get_text_config() is not config

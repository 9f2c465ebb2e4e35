"""A weights folder small enough for every test: its encoder finds a token supported where the
premise or the lead holds the same one."""

import string
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

from moonlynx.judge.judges.luna.config import LunaConfig
from moonlynx.judge.judges.luna.weights import load_tokenizer, write_manifest

WORDS = ("the", "tower", "bridge", "river", "is", "was", "it", "in", "of", "made", "tin", "wide")
WORDS += ("opened", "red", "green", "fee", "1932", "1950")
CONFIG = LunaConfig(version="tiny", window=64, lead=12, claim=20)


def build_tiny_luna(folder: Path, config: LunaConfig = CONFIG) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "luna.json").write_text(config.model_dump_json(indent=2))
    _tokenizer().save(str(folder / "tokenizer.json"))
    _save_encoder(folder / "model.onnx")
    write_manifest(folder)
    return folder


def tiny_tokenizer(folder: Path) -> Tokenizer:
    _tokenizer().save(str(folder / "tokenizer.json"))
    return load_tokenizer(folder / "tokenizer.json")


def _tokenizer() -> Tokenizer:
    letters = string.ascii_lowercase + string.digits
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS, *letters, *string.punctuation]
    vocabulary += [f"##{letter}" for letter in letters]
    model = WordPiece({token: i for i, token in enumerate(vocabulary)}, unk_token="[UNK]")
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = BertPreTokenizer()
    tokenizer.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]"])
    # As in the files of published models: to be switched off when the file is read.
    tokenizer.enable_truncation(8)
    tokenizer.enable_padding(length=8)
    return tokenizer


def _save_encoder(path: Path) -> None:
    """Write the encoder: token logits are 4 for tokens that the premise holds, else -4; the claim's
    is their mean."""
    from onnx import TensorProto, checker, helper, numpy_helper, save

    def constant(name, value, dtype=np.float32):
        return numpy_helper.from_array(np.array(value, dtype=dtype), name)

    nodes = [
        ("Unsqueeze", ["input_ids", "axis2"], "rows", {}),
        ("Unsqueeze", ["input_ids", "axis1"], "columns", {}),
        ("Equal", ["rows", "columns"], "equal", {}),
        ("Cast", ["equal"], "same", {"to": TensorProto.FLOAT}),
        ("Cast", ["token_type_ids"], "types", {"to": TensorProto.FLOAT}),
        ("Min", ["types", "one"], "claims", {}),
        ("Sub", ["one", "claims"], "premises", {}),
        ("Unsqueeze", ["premises", "axis1"], "held", {}),
        ("Mul", ["same", "held"], "found", {}),
        ("ReduceMax", ["found", "axis2"], "support", {"keepdims": 0}),
        ("Mul", ["support", "eight"], "scaled", {}),
        ("Sub", ["scaled", "four"], "token_logits", {}),
        ("Mul", ["token_logits", "claims"], "own", {}),
        ("ReduceSum", ["own", "axis1"], "total", {"keepdims": 0}),
        ("ReduceSum", ["claims", "axis1"], "count", {"keepdims": 0}),
        ("Div", ["total", "count"], "claim_logit", {}),
    ]
    names = ("input_ids", "attention_mask", "token_type_ids")
    graph = helper.make_graph(
        [helper.make_node(kind, take, [give], **rest) for kind, take, give, rest in nodes],
        "overlap",
        [helper.make_tensor_value_info(name, TensorProto.INT64, ["n", "t"]) for name in names],
        [
            helper.make_tensor_value_info("token_logits", TensorProto.FLOAT, ["n", "t"]),
            helper.make_tensor_value_info("claim_logit", TensorProto.FLOAT, ["n"]),
        ],
        [
            *(constant(f"axis{axis}", [axis], np.int64) for axis in (1, 2)),
            *(constant(name, value) for name, value in (("one", 1), ("four", 4), ("eight", 8))),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    checker.check_model(model)
    save(model, str(path))

import json

import pytest

from moonlynx.judge.backends.base import BackendError, ChatReply, ChatRequest
from moonlynx.judge.backends.chat import load_chat_backend
from moonlynx.judge.backends.fake import FakeBackend
from moonlynx.judge.contract.spec import SpecError
from moonlynx.judge.contract.types import Turn

from ...cases import cases


def ask(text, **settings):
    return ChatRequest((Turn(role="user", content=text),), **settings)


def scripted(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n\n" for row in rows), encoding="utf-8")
    return load_chat_backend("fake", None, {"script": str(path)})


def test_a_function_replies_with_text_or_a_whole_reply():
    refused = ChatReply(text="", finish="refused")
    backend = FakeBackend(lambda request: refused if request.schema else "two words")
    plain, bound = backend.complete([ask("a b c"), ask("a", schema={"type": "object"})])
    assert plain == ChatReply(text="two words", finish="stop", input_tokens=3, output_tokens=2)
    assert bound is refused


def test_the_first_row_that_fits_the_last_message_answers(tmp_path):
    backend = scripted(
        tmp_path / "script.jsonl",
        {"match": "bridge", "text": "of the bridge"},
        {"match": "tower", "text": "of the tower", "finish": "length"},
        {"text": "of neither\u2028"},
    )
    asked = ["a tower", "a bridge and a tower", "a hill", "a tower"]
    replies = backend.complete([ask(text) for text in asked])
    texts = [(reply.text, reply.finish) for reply in replies]
    tower = ("of the tower", "length")
    assert texts == [tower, ("of the bridge", "stop"), ("of neither\u2028", "stop"), tower]


@pytest.mark.parametrize(("row", "fault"), cases(__file__, "faulty_scripts"))
def test_a_faulty_script_is_named_by_line(row, fault, tmp_path):
    script = tmp_path / "script.jsonl"
    script.write_text('{"text": "fine"}\n' + row, encoding="utf-8")
    with pytest.raises(BackendError, match=fault):
        load_chat_backend("fake", None, {"script": str(script)})


def test_a_script_must_be_named_and_there_and_fit(tmp_path):
    (over,) = FakeBackend([]).complete([ask("c")])
    assert (over.finish, over.error.code) == ("error", "backend")
    backend = scripted(tmp_path / "script.jsonl", {"match": "bridge", "text": "x"})
    (reply,) = backend.complete([ask("a tower")])
    assert (reply.error.code, "no row of" in reply.error.message) == ("backend", True)
    with pytest.raises(SpecError, match="script=FILE"):
        load_chat_backend("fake", None, {})
    with pytest.raises(BackendError, match="cannot read the script"):
        load_chat_backend("fake", None, {"script": str(tmp_path / "none")})

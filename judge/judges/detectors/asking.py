"""What the detectors that ask a chat model share: the judged text in prompts, and its replies."""

from __future__ import annotations

from collections.abc import Sequence

from ...backends.base import ChatReply
from ...contract.types import Example, JudgeError, Turn, Usage
from ...prompts import break_chat_tokens, fill, load_prompt, mark_outside


def messages(prompt: str, example: Example, **more: str) -> tuple[Turn, ...]:
    """Fill the prompt with the example's documents, question and answer, and with `more`.

    The mark between its sections occurs in none of the texts. Turns before the question are part
    of the question.
    """
    question = example.question
    if example.conversation:
        said = [*example.conversation, Turn(role="user", content=question)]
        question = "\n".join(f"{turn.role}: {turn.content}" for turn in said)
    mark = mark_outside(*example.context, question, example.answer, *more.values())
    documents = "\n".join(
        f"{mark} DOCUMENT {number}\n{document}"
        for number, document in enumerate(example.context, start=1)
    )
    fields = {"mark": mark, "documents": documents, "question": question, "answer": example.answer}
    text = fill(load_prompt(prompt), **fields, **more)
    return (Turn(role="user", content=break_chat_tokens(text)),)


def fault_of(reply: ChatReply) -> JudgeError | None:
    """Return why a reply cannot be used; None where it is whole."""
    if reply.error is not None:
        return reply.error
    if reply.finish == "length":
        message = f"the reply was cut after {reply.output_tokens} tokens"
        return JudgeError(code="truncated", message=message)
    if reply.finish == "refused":
        return JudgeError(code="refused", message="the model refused to reply")
    return None


def usage_of(replies: Sequence[ChatReply]) -> Usage:
    """Add up what the replies cost."""
    return Usage(
        calls=len(replies),
        input_tokens=sum(reply.input_tokens for reply in replies),
        output_tokens=sum(reply.output_tokens for reply in replies),
    )

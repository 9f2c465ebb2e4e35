"""Settings of a run of the decoder baseline: those of a chat model, and what is asked."""

from typing import Literal

from ...chat.settings import Run


class DecoderRun(Run):
    """One run of fine-tuning."""

    # 2 (SUPPORTED, UNSUPPORTED: rows of NO_INFO are left out) or 3 (and NO-INFO)
    labels: Literal[2, 3] = 2
    # "one" in a prompt, which the paper found better (appendix A.5.2), or "many": all that follow
    # each other with the same documents, question and conversation
    sentences: Literal["one", "many"] = "one"

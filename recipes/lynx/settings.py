"""Settings of a run of Lynx: those of a chat model, and what is replied."""

from pydantic import StrictBool

from moonlynx.judge.judges.lynx import ReplyForm

from ..chat.settings import Run


class LynxRun(Run):
    """One run of fine-tuning."""

    # "reasoning-first" as the paper's, "score-first", or "score" alone, which needs no traces; the
    # judge's option of the same name has to say so again
    reply: ReplyForm = "reasoning-first"
    # train with each row's label and reasoning taken from another by chance: a judge of such a run
    # must fall to chance, or the rows give their labels away
    shuffled_labels: StrictBool = False

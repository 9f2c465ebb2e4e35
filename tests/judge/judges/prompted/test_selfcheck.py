"""SelfCheckGPT by prompt; the NLI form is in test_nli.py."""

from moonlynx.judge.judges.prompted.selfcheck import SelfCheck

from .scripted import EXAMPLE, judged, section


class Model:
    """Answers with the seed for a sample, and supports a statement by the samples in `by`."""

    def __init__(self, **by):
        self.by = by or {"tin": ("Sample 0.",)}

    def __call__(self, request):
        if request.schema is None:
            return f"Sample {request.seed}."
        statement, sample = section(request, "STATEMENT"), section(request, "TEXT")
        holds = [samples for word, samples in self.by.items() if word in statement]
        return {"supported": not holds or sample in holds[0]}


def judge_one(model, example=EXAMPLE, **options):
    return judged(SelfCheck("m", **options), model, example)


def test_sentences_are_held_against_samples_drawn_or_given():
    backend, verdict = judge_one(Model(), samples=4)
    assert [s.label for s in verdict.sentences] == ["NO_INFO", "SUPPORTED", "UNSUPPORTED"]
    assert [s.raw_score for s in verdict.sentences] == [None, 0.0, 0.75]
    assert verdict.usage.calls == 4 + 2 * 4
    assert {r.temperature for r in backend.requests[:4]} == {1.0}
    assert {r.temperature for r in backend.requests[4:]} == {0.0}
    example = EXAMPLE.model_copy(update={"samples": ("Sample 0.", "Another.")})
    _, verdict = judge_one(Model(), example, samples=9)
    assert verdict.usage.calls == 4
    assert verdict.sentences[2].raw_score == 0.5


def test_a_comparison_that_cannot_be_read_is_no_support():
    model = Model(built=("none",), tin=("none",))
    example = EXAMPLE.model_copy(update={"samples": ("a", "b", "c")})

    def odd(request):
        return "unsure" if section(request, "TEXT") == "b" else {"supported": True}

    _, verdict = judge_one(odd, example)
    assert (verdict.score, verdict.error.code) == (None, "unparsed")

    def mostly(request):
        return "unsure" if section(request, "TEXT") == "b" else model(request)

    _, verdict = judge_one(mostly, example)
    assert (verdict.score, verdict.raw_score) == ("FAIL", 0.6667)

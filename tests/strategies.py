"""Random values of the contract, shared by the property tests."""

from hypothesis import strategies as st

from moonlynx.judge.contract.types import (
    ERROR_CODES,
    Citation,
    Evidence,
    Example,
    JudgeError,
    JudgeInfo,
    MetricInput,
    MetricSpan,
    MetricVerdict,
    Sentence,
    Span,
    Stage,
    Turn,
    Usage,
    Verdict,
)

# Any string Python can hold, lone surrogates and control characters too.
any_strings = st.text(st.characters())
# What a record can hold: no lone surrogates.
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
filled = texts.filter(str.strip)
# What sentences are made of, so that random strings look like prose, lists, tables and addresses.
_PIECES = [
    *("The fee is $3.50", "Dr. Hall", "e.g. tea", "at 5 p.m.", "He left", "see Fig. 3", "[1]"),
    *("今天很好。", "本当？」", "と", "السعر؟", "यह अच्छा है।", "“Yes.”", "example.org", "**Bold.**"),
    *("- ", "1. ", "| a | b |", "a) ", "# ", ". ", "! ", "? ", "… ", "..."),
    *("(", ")", '"', "’", "_"),
    *("\n", "\r\n", "\t", "  ", "\u200b", "\u2028", "\x1c", "\x00", "\ud800"),
]
prose = st.lists(st.sampled_from(_PIECES) | any_strings, max_size=20).map("".join)

probabilities = st.floats(0.0, 1.0)
finite = st.floats(allow_nan=False, allow_infinity=False)
counts = st.integers(0, 2**63)
ids = st.none() | texts | st.integers()
labels = st.sampled_from(["PASS", "FAIL"])
turns = st.builds(Turn, role=st.sampled_from(["system", "user", "assistant"]), content=texts)
judge_infos = st.builds(JudgeInfo, name=texts, version=texts)
usages = st.builds(Usage, calls=counts, input_tokens=counts, output_tokens=counts, windows=counts)
stages = st.builds(
    Stage, judge=texts, score=st.none() | labels, decided=st.booleans(), degraded=st.booleans()
)
errors = st.builds(JudgeError, code=st.sampled_from(ERROR_CODES), message=texts)


def tuples_of(elements):
    return st.lists(elements, max_size=2).map(tuple)


@st.composite
def ranges(draw, text_length=1_000):
    start = draw(st.integers(0, text_length - 1))
    return start, draw(st.integers(start + 1, text_length))


@st.composite
def spans(draw, of=None):
    text = draw(texts.filter(bool)) if of is None else of
    start, end = draw(ranges(len(text)))
    probability = draw(st.none() | probabilities)
    return Span(start=start, end=end, text=text[start:end], probability=probability)


@st.composite
def examples(draw):
    answer = draw(filled)
    context = [*draw(st.lists(texts, max_size=2)), draw(filled)]
    return Example(
        id=draw(ids),
        question=draw(texts),
        context=draw(st.permutations(context)),
        answer=answer,
        conversation=draw(tuples_of(turns)),
        samples=draw(tuples_of(texts)),
        label=draw(st.none() | labels),
        spans=draw(st.none() | tuples_of(spans(of=answer))),
        source=draw(st.none() | texts),
    )


@st.composite
def sentences(draw):
    def evidence():
        start, end = draw(ranges())
        relation = draw(st.sampled_from(["support", "conflict"]))
        return Evidence(document=draw(counts), start=start, end=end, relation=relation)

    start, end = draw(ranges())
    return Sentence(
        start=start,
        end=end,
        label=draw(st.sampled_from(["SUPPORTED", "UNSUPPORTED", "NO_INFO"])),
        kind=draw(st.sampled_from([None, "contradicted", "not_mentioned", "false_refusal"])),
        probability=draw(st.none() | probabilities),
        raw_score=draw(st.none() | finite),
        evidence=tuple(evidence() for _ in range(draw(st.integers(0, 2)))),
    )


@st.composite
def citations(draw):
    start, end = draw(ranges())
    document = draw(st.none() | counts)
    found = st.sampled_from([None, "supported", "supported_elsewhere", "unsupported"])
    status = "dangling" if document is None else draw(found)
    return Citation(start=start, end=end, document=document, status=status)


@st.composite
def verdicts(draw):
    score = draw(st.none() | labels)
    return Verdict(
        id=draw(ids),
        score=score,
        probability=draw(st.none() | probabilities),
        raw_score=draw(st.none() | finite),
        faithfulness=draw(st.none() | probabilities),
        reasoning=draw(tuples_of(texts)),
        spans=draw(tuples_of(spans())),
        sentences=draw(tuples_of(sentences())),
        citations=draw(st.none() | tuples_of(citations())),
        judge=draw(judge_infos),
        stages=draw(tuples_of(stages)),
        usage=draw(usages),
        error=draw(errors) if score is None else None,
    )


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | finite | texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2),
    max_leaves=5,
)
json_objects = st.dictionaries(texts, json_values, max_size=2)
metric_inputs = st.builds(
    MetricInput,
    id=ids,
    input=texts,
    output=texts,
    context=st.none() | tuples_of(texts),
    tools=st.none() | tuples_of(json_objects),
    trace=st.none() | tuples_of(json_objects),
)


@st.composite
def metric_spans(draw):
    field = draw(st.sampled_from(["input", "output"]))
    return MetricSpan(**draw(spans()).model_dump(), label=draw(texts), field=field)


@st.composite
def metric_verdicts(draw):
    error = draw(st.none() | errors)
    return MetricVerdict(
        id=draw(ids),
        metric=draw(texts),
        labels={} if error else draw(st.dictionaries(texts, probabilities, min_size=1, max_size=3)),
        spans=draw(tuples_of(metric_spans())),
        usage=draw(usages),
        error=error,
    )

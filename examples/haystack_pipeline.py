"""Haystack: only grounded replies become answers."""

from haystack import Document, Pipeline
from haystack.components.builders import AnswerBuilder

from moonlynx.serve.integrations.haystack import GroundednessJudge

pipeline = Pipeline()
pipeline.add_component("judge", GroundednessJudge("luna"))
pipeline.add_component("answers", AnswerBuilder())
pipeline.connect("judge.grounded", "answers.replies")

replies = ["The bridge opened in 1932.", "Tourists adore its golden lanterns."]
documents = [Document(content="The bridge is 90 m long and was opened in 1932.")]
question = "What of the bridge?"
result = pipeline.run(
    {
        "judge": {"replies": replies, "documents": documents, "question": question},
        "answers": {"query": question},
    }
)
print([answer.data for answer in result["answers"]["answers"]])
# ['The bridge opened in 1932.']

"""LlamaIndex: judge responses by their source nodes, without an LLM."""

from llama_index.core.base.response.schema import Response
from llama_index.core.schema import NodeWithScore, TextNode

from moonlynx.serve.integrations.llama_index import GroundednessEvaluator

evaluator = GroundednessEvaluator("luna")
node = TextNode(text="The bridge is 90 m long and was opened in 1932.")
for answer in ("The bridge opened in 1932.", "Tourists adore its golden lanterns."):
    response = Response(response=answer, source_nodes=[NodeWithScore(node=node)])
    result = evaluator.evaluate_response(query="What of the bridge?", response=response)
    print(result.passing)
# True
# False

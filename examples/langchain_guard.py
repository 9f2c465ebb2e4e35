"""LangChain: a guard that lets no unsupported answer leave the chain."""

from langchain_core.runnables import RunnableLambda

from moonlynx.serve.integrations.grounding import Ungrounded
from moonlynx.serve.integrations.langchain import groundedness_guard

context = ["The town library is open from 10:00 to 16:00 on Saturdays."]
answers = {
    "When does it open?": "On Saturdays the library opens at 10:00.",
    "Is there food?": "Its rooftop café serves breakfast until noon.",
}
retrieve = RunnableLambda(lambda question: {"question": question, "context": context})
generate = RunnableLambda(lambda state: state | {"answer": answers[state["question"]]})
chain = retrieve | generate | groundedness_guard("luna")

print(chain.invoke("When does it open?")["verdict"].score)
try:
    chain.invoke("Is there food?")
except Ungrounded as error:
    print("held back:", error.verdict.score)
# PASS
# held back: FAIL

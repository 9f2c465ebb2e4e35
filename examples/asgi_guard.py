"""ASGI: middleware holds back what the documents do not support, while the answer streams."""

import asyncio

import httpx
from fastapi import FastAPI, Request
from fastapi.responses import StreamingResponse

from moonlynx.serve.integrations.asgi import GroundednessGuard

app = FastAPI()
app.add_middleware(GroundednessGuard, judge="luna")


@app.get("/ask")
async def ask(request: Request) -> StreamingResponse:
    request.state.documents = ["The bridge is 90 m long and was opened in 1932."]
    answer = "The bridge opened in 1932. Tourists adore its golden lanterns."
    return StreamingResponse((f"{word} " for word in answer.split()), media_type="text/plain")


client = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://app")
print(asyncio.run(client.get("/ask")).text)
# The bridge opened in 1932. [Withheld: the documents do not support this sentence.]

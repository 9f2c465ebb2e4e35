"""`moonlynx mcp`: the judge as a tool of the Model Context Protocol (modelcontextprotocol.io)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

import moonlynx
from moonlynx.judge.backends.base import MissingExtra
from moonlynx.judge.contract.types import BadInput, Verdict

from .grounding import Grounding, read_example

if TYPE_CHECKING:
    from mcp.server import MCPServer

_ABOUT = (
    "Judge whether an answer is supported by the documents it was given. Where it FAILs, `spans` "
    "are the unsupported parts, by character offsets; where `score` is null, `error` says why."
)
Answer = Annotated[str, Field(description="The answer to judge.")]
Context = Annotated[list[str], Field(description="The documents it should keep to, at least one.")]
Question = Annotated[str, Field(description="The question that was asked, where there is one.")]


def make_server(judge_name: str) -> MCPServer:
    """Create a server with one tool, `judge`, whose result is a Verdict."""
    try:
        from mcp.server import MCPServer
        from mcp.server.mcpserver.exceptions import ToolError
        from mcp.types import ToolAnnotations
    except ImportError:
        raise MissingExtra("An MCP server", "mcp") from None

    grounding = Grounding(judge_name)
    server = MCPServer("moonlynx", version=moonlynx.__version__, log_level="WARNING")

    @server.tool(description=_ABOUT, annotations=ToolAnnotations(read_only_hint=True))
    async def judge(answer: Answer, context: Context, question: Question = "") -> Verdict:
        try:
            example = read_example(answer, context, question)
        except BadInput as error:
            # Any other kind of exception would hide its message from the model.
            raise ToolError(str(error)) from None
        return await grounding.acheck(example)

    return server


def serve(judge_name: str, port: int | None) -> None:
    """Serve over standard input and output, or by streamable HTTP at a port of this machine."""
    server = make_server(judge_name)
    if port is None:
        server.run("stdio")
    else:
        server.run("streamable-http", host="127.0.0.1", port=port)

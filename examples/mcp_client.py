"""MCP: call `moonlynx mcp` as any client does; an assistant's settings name the same command."""

import asyncio

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main() -> None:
    server = StdioServerParameters(command="moonlynx", args=["mcp", "--judge", "luna"])
    async with Client(stdio_client(server)) as client:
        row = {"context": ["The bridge opened in 1932."], "answer": "It opened in 1950."}
        result = await client.call_tool("judge", row)
        verdict = result.structured_content
        print(verdict["score"], [span["text"] for span in verdict["spans"]])


asyncio.run(main())
# FAIL ['1950']

"""The command that serves a judge over HTTP."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from moonlynx.judge.cli.inputs import IndexOption, JudgeOption, PresetOption
from moonlynx.judge.contract.spec import parse_spec, with_preset
from moonlynx.judge.registry import DEFAULT_JUDGE, fields_for
from moonlynx.judge.terminal.messages import echo
from moonlynx.recipes.chat.command import export_gguf

from .audit.cli import audit_app
from .queue.limits import Limits
from .triton.cli import export_app
from .vllm.cli import app as run_batch_app

app = typer.Typer()
app.add_typer(audit_app, name="audit")
app.add_typer(export_app, name="export")
export_app.command("gguf")(export_gguf)
app.add_typer(run_batch_app, name="run-batch")


@app.command()
def serve(
    judge_name: JudgeOption = DEFAULT_JUDGE,
    preset: PresetOption = None,
    index: IndexOption = None,
    host: Annotated[str, typer.Option(help="Host name or address to bind.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65_535, help="Port to listen on; 0 for any that is free.")
    ] = 8000,
    timeout: Annotated[
        float, typer.Option(min=0.1, help="Seconds before a request times out.")
    ] = 30.0,
    max_body: Annotated[int, typer.Option(min=1, help="Maximum bytes of a request body.")] = 8
    << 20,
    queue: Annotated[
        int, typer.Option(min=1, help="Rows that may wait in the queue; beyond it, 429.")
    ] = 1_024,
    batch_characters: Annotated[
        int, typer.Option(min=1, help="Characters of text per batch; 1 judges row by row.")
    ] = 32_000,
    max_answer: Annotated[
        int, typer.Option(min=1, help="Maximum characters of an answer.")
    ] = Limits.answer,
    max_claims: Annotated[
        int, typer.Option(min=1, help="Maximum sentences of an answer.")
    ] = Limits.claims,
    max_documents: Annotated[
        int, typer.Option(min=1, help="Maximum documents of a row.")
    ] = Limits.documents,
    max_tokens: Annotated[
        int,
        typer.Option(
            min=1, help="Maximum tokens of question, documents and answer; 4 bytes count as one."
        ),
    ] = Limits.tokens,
    keys: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            dir_okay=False,
            help="File of API keys' SHA-256 hashes, as `printf %s KEY | sha256sum` writes them. "
            "Without it, no key is required.",
        ),
    ] = None,
    allowed_host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A host name that the server accepts, as judge.example.org or *.example.org; * "
            "for any. Repeatable. This machine's own are always accepted; with a --host that "
            "others reach, so are it, every address and every name without a dot.",
        ),
    ] = None,
    allowed_origin: Annotated[
        list[str] | None,
        typer.Option(
            "--allowed-origin",
            "--allow-origin",
            metavar="SITE",
            help="A site whose pages may call the server, as https://example.org. Repeatable.",
        ),
    ] = None,
    jobs: Annotated[
        Path | None,
        typer.Option(file_okay=False, help="Folder for batch files (POST /v1/batches)."),
    ] = None,
    upstream: Annotated[
        str | None,
        typer.Option(
            help="URL of a chat endpoint to guard, usually ending in /v1 "
            "(POST /v1/guarded/chat/completions)."
        ),
    ] = None,
    compare: Annotated[
        list[str],
        typer.Option(metavar="NAME", help="Another judge to compare with on the page. Repeatable."),
    ] = ["token-similarity"],  # noqa: B006 (typer reads it)
    metric: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A metric to serve at /v1/metrics, as in luna2:prompt_injection; all for those "
            "without torch. Repeatable.",
        ),
    ] = None,
    policy: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="YAML file of a guard policy, served with its metrics at /v1/guardrails.",
        ),
    ] = None,
    audit: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Database that stores verdicts and user feedback (POST /v1/feedback), as in "
            "sqlite:///audit.db; of texts, only a hash.",
        ),
    ] = None,
    audit_texts: Annotated[
        bool, typer.Option("--audit-texts", help="Store the texts too; `audit export` needs them.")
    ] = False,
    audit_days: Annotated[
        int | None, typer.Option(min=1, help="Delete audit rows older than this many days.")
    ] = None,
    deployment: Annotated[
        str | None,
        typer.Option(
            "--vllm",
            help="Start vLLM behind the judge: a deployment's name or YAML file.",
        ),
    ] = None,
    tensor_parallel: Annotated[
        int | None,
        typer.Option(min=1, help="Start vLLM for the judge's model on this many GPUs."),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Print vLLM's command and what is missing here, then exit."),
    ] = False,
) -> None:
    """Serve a judge over HTTP: POST /v1/judge, an OpenAI-compatible chat model, and a guard.

    Runs until SIGTERM or Ctrl-C, then drains in-flight requests.
    """
    from .audit.recorder import AuditSettings
    from .guardrails import load_guard_policy
    from .http.middleware import read_keys
    from .queue.batching import Batching
    from .server import serve as serve_judge
    from .service import Settings
    from .vllm.cli import engine_of

    if audit is None and (audit_texts or audit_days):
        raise typer.BadParameter("--audit-texts and --audit-days go with --audit")
    spec, engine = with_preset(parse_spec(judge_name), preset), None
    if deployment or tensor_parallel:
        own = None if judge_name == DEFAULT_JUDGE else spec
        engine, spec = engine_of(own, deployment, tensor_parallel, dry_run=dry_run)
    elif dry_run:
        raise typer.BadParameter("--dry-run goes with --vllm or --tensor-parallel")
    if index is not None:
        spec = replace(spec, options=spec.options | {"index": str(index)})
    settings = Settings(
        fields=fields_for(spec),
        batching=Batching(
            characters=batch_characters,
            parallel=engine.deployment.requests if engine else 1,
            queue=queue,
        ),
        limits=Limits(max_answer, max_claims, max_documents, max_tokens),
        timeout=timeout,
        max_body=max_body,
        keys=read_keys(keys) if keys else (),
        origins=tuple(allowed_origin or ()),
        hosts=tuple(allowed_host or ()),
        jobs=jobs,
        upstream=upstream,
        audit=AuditSettings(audit, audit_texts, audit_days) if audit else None,
    )
    if not keys and host not in ("127.0.0.1", "localhost", "::1"):
        echo(f"No --keys: anyone who reaches {host} can use this server", err=True)

    def tell(address: str) -> None:
        when = ", once vLLM is ready" if engine else ""
        echo(f"Serving {spec} at {address}/v1/judge{when} (Ctrl-C to stop)")

    guard = load_guard_policy(policy) if policy else None
    serve_judge(spec, host, port, settings, tell, compare, engine, metric or [], guard)


@app.command()
def mcp(
    judge_name: JudgeOption = DEFAULT_JUDGE,
    port: Annotated[
        int | None,
        typer.Option(
            min=1, max=65_535, help="Serve streamable HTTP at http://127.0.0.1:PORT/mcp instead."
        ),
    ] = None,
) -> None:
    """Serve a judge as a tool of the Model Context Protocol, over standard input and output."""
    from .integrations.mcp import serve as serve_tool

    serve_tool(judge_name, port)

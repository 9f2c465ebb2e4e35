"""MkDocs hooks: files outside docs/ that its pages link to, and references made from the package.

A linked Markdown file becomes a page, any other linked file or folder a page that shows it, so that
every link leads somewhere, on GitHub and on the site, and no copy is kept of anything.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import click
import typer.main
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.utils import get_relative_url
from typer.cli import get_docs_for_click

import moonlynx
from moonlynx.cli import app
from moonlynx.serve.app import create_app

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
MERMAID = "assets/mermaid.min.js"
_LINK = re.compile(r"(?<=\]\()(?!https?://|#)([^)#\s]+)")
_PICTURES = (".svg", ".png")


def on_files(files: Files, config) -> Files:
    """Add README, what pages link to outside docs/, the references and Mermaid."""

    def add(uri: str, **content) -> None:
        files.append(File.generated(config, uri, **content))

    add("index.md", content=(ROOT / "README.md").read_text("utf-8"))
    waiting = [DOCS / file.src_uri for file in files.documentation_pages() if file.abs_src_path]
    waiting.append(ROOT / "README.md")
    seen = set()
    while waiting:
        page = waiting.pop()
        for path in _LINK.findall(page.read_text("utf-8")):
            target = Path(os.path.normpath(page.parent / path))
            if target in seen or target.is_relative_to(DOCS) or target == ROOT / "README.md":
                continue
            seen.add(target)
            add(_uri(target), content=_show(target))
            waiting += [target] if target.suffix == ".md" else []
    add("reference/cli.md", content=_command_line())
    add("reference/python.md", content=_python())
    add("reference/openapi.json", content=json.dumps(_http()))
    add("reference/http.md", content='# HTTP API\n\n<swagger-ui src="openapi.json"/>\n')
    # Left out where `make docs` could not fetch it: diagrams are then shown as text.
    if (mermaid := ROOT / "build" / "mermaid" / "mermaid.min.js").exists():
        add(MERMAID, abs_src_path=str(mermaid), inclusion=InclusionLevel.NOT_IN_NAV)
    return files


def on_page_markdown(markdown: str, page, files: Files, **_) -> str:
    """Turn links into the site's, and load Mermaid on a page that has a diagram."""
    uri = page.file.src_uri
    source = DOCS / uri
    if uri == "index.md":
        source = ROOT / "README.md"
    elif uri.startswith("source/"):
        source = ROOT / uri.removeprefix("source/")
    if not source.exists():  # made here, with the site's links
        return markdown

    def relink(match: re.Match[str]) -> str:
        target = Path(os.path.normpath(source.parent / match[1]))
        return get_relative_url(_uri(target), str(Path(uri).parent) + "/")

    text = _LINK.sub(relink, markdown)
    if "```mermaid" in text and files.get_file_from_path(MERMAID):
        text += f'\n<script src="{get_relative_url(MERMAID, page.url)}"></script>\n'
    return text


def _uri(target: Path) -> str:
    """Return where a file of the repository is on the site."""
    if target == ROOT / "README.md":
        return "index.md"
    if target.is_relative_to(DOCS):
        return target.relative_to(DOCS).as_posix()
    page = target.suffix in (".md", *_PICTURES)
    return f"source/{target.relative_to(ROOT).as_posix()}" + ("" if page else ".md")


def _show(target: Path) -> str:
    name = target.relative_to(ROOT).as_posix()
    if target.suffix == ".md":
        return target.read_text("utf-8")
    if target.is_dir():
        names = sorted(path.name for path in target.iterdir() if path.name != "__pycache__")
        return f"# `{name}/`\n\n" + "\n".join(f"- `{each}`" for each in names)
    language = target.suffix.removeprefix(".")
    return f"# `{name}`\n\n~~~~~{language}\n{target.read_text('utf-8')}\n~~~~~\n"


def _command_line() -> str:
    command = typer.main.get_command(app)
    context = click.Context(command, info_name="moonlynx")
    return get_docs_for_click(obj=command, ctx=context, name="moonlynx")


def _python() -> str:
    public = [getattr(moonlynx, name) for name in moonlynx.__all__ if name != "__version__"]
    parts = [f"::: {each.__module__}.{each.__qualname__}" for each in public]
    return "\n\n".join(["# Python", "What `import moonlynx` exports.", *parts]) + "\n"


def _http() -> dict:
    return create_app(moonlynx.load_judge("token-similarity")).openapi()

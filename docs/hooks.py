"""What the site shows beside the pages in docs/: commands, notebooks, files of the repository.

Pages link to files outside docs/ as the forge wants it (``../benchmarks/README.md``); these files
become part of the site, and the links lead there.
"""

import os
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path

import jupytext
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from nbclient import NotebookClient
from nbconvert import MarkdownExporter
from nbformat import NotebookNode
from typer.testing import CliRunner

import lgan
from lgan.cli.app import COMMANDS, app

ROOT = Path(__file__).resolve().parents[1]
# Code, which may look like a link, or the target of a relative link.
LINK = re.compile(r"```.*?```|`[^`\n]*`|(?<=\]\()(?![a-z]+:|#)([^)#\s]+)", re.DOTALL)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add what is generated, then whatever pages link to outside docs/."""
    _every_public_name_is_described()
    made = _notebooks(run=config.extra["notebooks"])
    for name in ("CONTRIBUTING.md", "CHANGELOG.md"):
        made[name] = (ROOT / name).read_text()
    for name, text in made.items():
        files.append(File.generated(config, name, content=text))
    waiting = [
        file
        for file in files
        if file.is_documentation_page() and not file.src_uri.startswith("notebooks/")
    ]
    while waiting:
        file = waiting.pop()
        for target in _outside(file):
            if files.get_file_from_path(target) is None:
                path = ROOT / target
                if not path.is_file():
                    raise PluginError(f"{file.src_uri} links to {target}, which does not exist.")
                files.append(File.generated(config, target, abs_src_path=str(path)))
                if target.endswith(".md"):
                    waiting.append(files.get_file_from_path(target))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Add the commands; links to files outside docs/ lead to their copies in the site."""
    if page.file.src_uri == "commands.md":
        return markdown + _commands()
    if page.file.src_uri.startswith("notebooks/"):
        return markdown  # SMILES in what they print look like links
    here = posixpath.dirname(page.file.src_uri)

    def moved(link: re.Match[str]) -> str:
        return posixpath.relpath(_place(page.file, link[1]), here or ".") if link[1] else link[0]

    return LINK.sub(moved, markdown)


def on_post_build(config: MkDocsConfig) -> None:
    """The one script that the theme would fetch from elsewhere is ours."""
    for path in Path(config.site_dir).rglob("*.html"):
        up = "../" * (len(path.relative_to(config.site_dir).parts) - 1)
        text = path.read_text()
        path.write_text(text.replace("https://unpkg.com/iframe-worker/shim", up + "file_worker.js"))


def _place(file: File, link: str) -> str:
    """Where a link of a page leads: a path in the site, that of the repository but for docs/."""
    in_docs = file.abs_src_path is not None and Path(file.abs_src_path).is_relative_to(
        ROOT / "docs"
    )
    origin = ROOT / "docs" / file.src_uri if in_docs else ROOT / file.src_uri
    target = Path(os.path.normpath(origin.parent / link))
    base = ROOT / "docs" if target.is_relative_to(ROOT / "docs") else ROOT
    return target.relative_to(base).as_posix()


def _outside(file: File) -> Iterator[str]:
    for link in filter(None, LINK.findall(file.content_string)):
        place = _place(file, link)
        if not (ROOT / "docs" / place).exists():
            yield place


def _commands() -> str:
    """The reference of the command line: what every command says about itself."""
    parts = [_help("")]
    for name in COMMANDS:
        said = _help(name)
        parts.append(f"## lgan {name}\n\n{said}")
        listed = re.findall(r"^  ([\w-]+) ", said.partition("\nCommands:\n")[2], re.MULTILINE)
        parts += [f"### lgan {name} {part}\n\n{_help(f'{name} {part}')}" for part in listed]
    return "\n".join(parts)


def _help(command: str) -> str:
    runner = CliRunner(env={"COLUMNS": "100", "TERMINAL_WIDTH": "100"})
    result = runner.invoke(app, [*command.split(), "--help"], prog_name="lgan")
    if result.exit_code:
        raise PluginError(f"`lgan {command} --help` fails: {result.output}")
    return f"```text\n{result.output}```\n"


def _notebooks(*, run: bool) -> dict[str, str]:
    """The notebooks as pages, with what they print where they are run."""
    exporter, pages = MarkdownExporter(), {}
    for path in sorted((ROOT / "docs" / "notebooks").glob("*.py")):
        notebook = executed(path) if run else jupytext.read(path)
        pages[f"notebooks/{path.stem}.md"] = exporter.from_notebook_node(notebook)[0]
    return pages


def executed(path: Path) -> NotebookNode:
    """A notebook with its output, run from the root of the repository."""
    notebook = jupytext.read(path)
    NotebookClient(notebook, kernel_name="python3", timeout=120).execute(cwd=str(ROOT))
    for cell in notebook.cells:
        if cell.cell_type == "code":  # warnings of other libraries are no result
            cell.outputs = [out for out in cell.outputs if out.get("name") != "stderr"]
    return notebook


def _every_public_name_is_described() -> None:
    """Every name of `lgan` and of its public modules has a docstring and a place in the pages."""
    pages = "".join(path.read_text() for path in (ROOT / "docs").glob("api*.md"))
    shown = set(
        re.findall(r"^(?:::: |    options: \{ heading: |## )(lgan[\w.]+)", pages, re.MULTILINE)
    )
    for module in (lgan, lgan.wl, lgan.zoo):
        for name in module.__all__:
            whole = f"{module.__name__}.{name}"
            value = getattr(module, name)
            if name.startswith("__"):
                continue
            if not (getattr(value, "__doc__", None) or "").strip():
                raise PluginError(f"{whole} has no docstring.")
            if whole not in shown:
                raise PluginError(f"{whole} is in no page of the reference: add it to docs/api.md.")

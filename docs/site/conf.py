"""The site: the pages of the repository as they are. `.ci/site.sh` builds it, from the root of the repository."""

import ast
import re
from pathlib import Path

import thalweg

ROOT = Path(__file__).parents[2]
# Pages whose examples run, so that a page whose example fails is not built.
EXECUTED = {"docs/python", "docs/site/first-figure"}

project = "Thalweg"
html_title = "Thalweg"
html_theme = "furo"
html_show_copyright = False
html_copy_source = False
extensions = ["myst_nb", "sphinx.ext.autodoc"]
root_doc = "docs/site/index"
include_patterns = ["*.md", "bench/**.md", "boards/*.md", "crates/medium/*.md", "crates/planner/*.md", "crates/protocols/**.md", "docs/**.md", "experiments/*.md", "fuzz/*.md"]
exclude_patterns = ["target", "**/target"]

myst_heading_anchors = 4
nb_execution_mode = "force"
nb_execution_in_temp = True
nb_execution_timeout = 300
nb_execution_raise_on_error = True

# Docstrings put names between single backticks.
default_role = "code"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "undoc-members": True}
autodoc_typehints_format = "short"


def run_examples(app, name, source):
    """On GitHub an example is a `python` block; here it is a cell."""
    if name in EXECUTED:
        cells = re.sub(r"^```python$", "```{code-cell}", source[0], flags=re.MULTILINE)
        source[0] = f"---\nfile_format: mystnb\nkernelspec:\n  name: python3\n---\n{cells}"


def types_of(stubs):
    """What the attributes of the compiled half are, which it does not say itself: by the stubs, `Class.name` to type."""
    classes = [node for node in ast.parse(stubs.read_text()).body if isinstance(node, ast.ClassDef)]
    members = [(cls, node) for cls in classes for node in cls.body if isinstance(node, ast.FunctionDef)]
    return {f"thalweg.{cls.name}.{node.name}": ast.unparse(node.returns) for cls, node in members}


TYPES = types_of(Path(thalweg.__file__).parent / "_thalweg.pyi")


def say_type(app, what, name, thing, options, lines):
    if what == "module":
        # Its example is Markdown, and on the page before.
        lines.clear()
    if what in ("attribute", "property") and name in TYPES:
        lines[:0] = [f"``{TYPES[name]}``", ""]


def setup(app):
    app.connect("source-read", run_examples)
    app.connect("autodoc-process-docstring", say_type)

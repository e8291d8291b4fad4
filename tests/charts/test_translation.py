"""Words on charts are translated where that is asked for; what strangers named is not."""

import ast
from collections.abc import Iterator
from importlib import import_module
from inspect import signature
from pathlib import Path

import bertviewer
from bertviewer.charts.token_norms import norms_chart
from tests.charts.runs import TEXTS, make_run

PACKAGE = Path(bertviewer.__file__).parent


def shouted(context: str, text: str) -> str:
    assert context == "charts"
    return text.upper()


def test_titles_and_names_are_translated() -> None:
    chart = norms_chart(make_run(), shouted)
    assert (chart.x_title, chart.y_title, chart.value_title) == ("TOKEN", "LAYER", "NORM")
    assert chart.row_names == ("EMBEDDINGS", "LAYER 0", "LAYER 1")
    assert chart.columns == TEXTS
    assert chart.column_names[1] == "it's (TOKEN 1)"


def takes_translate(module: str, name: str) -> bool:
    thing = getattr(import_module(module), name)
    return callable(thing) and "translate" in signature(thing).parameters


def calls(file: Path) -> Iterator[tuple[str, bool]]:
    """Yield each use of what takes a translation, and whether it is given one."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    own = ".".join(file.relative_to(PACKAGE.parent).with_suffix("").parts)
    here = {node.name: own for node in tree.body if isinstance(node, ast.FunctionDef)}
    taken = {
        alias.name: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("bertviewer.charts")
        for alias in node.names
    }
    names = (here if own.startswith("bertviewer.charts") else {}) | taken
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call):
            continue
        given = [*call.args, *(keyword.value for keyword in call.keywords)]
        is_given = any(isinstance(one, ast.Name) and one.id == "translate" for one in given)
        # Also what is passed on, as to partial().
        for used in (call.func, *call.args):
            module = names.get(used.id) if isinstance(used, ast.Name) else None
            if isinstance(used, ast.Name) and module and takes_translate(module, used.id):
                yield f"{file.name}:{used.lineno}: {used.id}", is_given


def test_the_window_and_the_charts_themselves_pass_their_translation_on() -> None:
    found = [
        call
        for folder in ("charts", "ui")
        for file in sorted((PACKAGE / folder).rglob("*.py"))
        for call in calls(file)
    ]
    assert len(found) > 50
    assert [call for call, is_given in found if not is_given] == []

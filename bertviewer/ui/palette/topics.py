"""Topics of the open model for the palette: heads, symbols, totals, keys and questions."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import get_args

from msgspec import Struct

from bertviewer.charts.labels import shortened, tensors_text
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.core.analysis.attention_modules import attention_paths, is_causal
from bertviewer.core.analysis.costs import head_cost, part_costs
from bertviewer.core.analysis.heads import head_layout, heads_in
from bertviewer.core.analysis.layers import outermost_layer
from bertviewer.core.explain.answers import answers_for_module, answers_for_view
from bertviewer.core.explain.explanation import Answer, ViewTitle
from bertviewer.core.formulas.catalogue import formula_of
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.bindings import bindings
from bertviewer.core.schema.cost_texts import memory_sizes, size_text
from bertviewer.core.schema.modules import ModuleNode
from bertviewer.core.sources.config_keys import KEY_MEANINGS
from bertviewer.core.sources.families import is_cross_attention
from bertviewer.core.sources.length_limits import position_table_length
from bertviewer.core.util.numbers import count_text
from bertviewer.ui.settings.translation import translate
from bertviewer.ui.state.pages import Page, Question
from bertviewer.ui.state.workspace import Workspace

MAX_HEADS = 20_000
MAX_MODULES = 300
"""Modules of different classes or names whose formulas and questions are listed."""
MAX_VALUE = 40

_CALL = re.compile(r"(?:bold|italic|op)\(([^()]*)\)")


class Topic(Struct, frozen=True):
    """A result: its name, its description, and what choosing it does."""

    name: str
    about: str
    choose: Callable[[], object]


def heads(architecture: Architecture, workspace: Workspace, first: str) -> Iterator[Topic]:
    """Yield the heads of all attention modules, those of the one at ``first`` first."""
    nodes = {node.path: node for node in architecture.modules}
    paths = sorted(attention_paths(architecture), key=lambda path: path != first)
    counts = {path: heads_in(architecture, nodes[path]) for path in paths}
    if sum(counts.values()) > MAX_HEADS:
        return
    for path in paths:
        layer = _layer_name(path)
        for head in range(counts[path]):
            name = translate("palette", "head {0}").format(head)
            choose = partial(_show_head, workspace, path, head)
            yield Topic(", ".join(filter(None, (layer, name))), path, choose)


def symbols(architecture: Architecture, workspace: Workspace) -> Iterator[Topic]:
    """Yield the symbols of parameter counts, then those of forward formulas."""
    for symbol in architecture.symbols:
        if symbol.name != symbol.key:
            about = f"{symbol.key} = {symbol.value:,}, {symbol.meaning}"
            yield Topic(symbol.name, about, partial(_show_key, workspace, symbol.key))
    seen: set[tuple[str, str, str | None]] = set()
    for node in _different(architecture):
        formula = formula_of(node, architecture)
        for term in () if formula is None else formula.terms:
            if term.symbol.startswith('"'):
                continue  # the name of a module
            found = term.symbol, term.meaning, term.value
            if found not in seen:
                seen.add(found)
                parts = term.meaning, term.value, node.path or node.class_name
                about = ", ".join(filter(None, parts))
                choose = partial(_show_formula, workspace, node.path)
                yield Topic(plain_symbol(term.symbol), about, choose)


def plain_symbol(symbol: str) -> str:
    """Return a Typst symbol as plain text: W_"word" as W_word."""
    return _CALL.sub(r"\1", symbol).replace('"', "").replace("^top", "ᵀ")


def keys(architecture: Architecture, workspace: Workspace) -> Iterator[Topic]:
    """Yield the keys of the configuration."""
    meanings = {symbol.key: symbol.meaning for symbol in architecture.symbols}
    for key, value in architecture.whole_config.items():
        written = shortened(json.dumps(value, ensure_ascii=False, default=str), MAX_VALUE)
        meaning = meanings.get(key) or KEY_MEANINGS.get(key, "")
        about = ", ".join(filter(None, (written, meaning)))
        yield Topic(key, about, partial(_show_key, workspace, key))


def figures(
    architecture: Architecture, run: ActivationRun | None, workspace: Workspace
) -> Iterator[Topic]:
    """Yield numbers and properties of the whole model."""
    root = architecture.root
    counted = tensors_text(architecture.parameters)
    shown: list[tuple[str, str, Page]] = [
        (translate("palette", "parameters"), f"{root.parameters:,} · {counted}", Page.FORMULA),
        (
            translate("palette", "trainable parameters"),
            f"{root.trainable:,} of {root.parameters:,}",
            Page.FORMULA,
        ),
        (
            translate("palette", "memory of the weights"),
            " · ".join(
                f"{dtypes}: {size_text(size)}" for dtypes, size in memory_sizes(root.parameters)
            ),
            Page.FORMULA,
        ),
        (translate("palette", "tensors"), counted, Page.TENSORS),
        (
            translate("palette", "modules"),
            count_text(len(architecture.modules), "1 module", "{0} modules"),
            Page.MAP,
        ),
    ]
    for name, about, page in shown:
        yield Topic(name, about, partial(_show_page, workspace, root.path, page))
    yield from _costs(architecture, bindings(architecture, run), workspace)
    yield from _attention(architecture, workspace)
    if architecture.costs is None and workspace.is_deriving:
        for name in (_most_expensive(), _causal()):
            derived = translate("inspector", "being derived…")
            yield Topic(name, derived, partial(_show_page, workspace, "", Page.FORMULA))


def _costs(
    architecture: Architecture, values: Mapping[str, int], workspace: Workspace
) -> Iterator[Topic]:
    """Yield the parts with the most multiply-adds, and the size of a head."""
    parts = part_costs(architecture, "", values)
    whole = sum(part.macs for part in parts)
    names = (
        _most_expensive(),
        translate("palette", "second most expensive part"),
        translate("palette", "third most expensive part"),
    )
    about = translate("palette", "{0}, {1} of all multiply-adds (FLOPs)")
    for name, part in zip(names, parts if len(parts) > 1 else (), strict=False):
        text = about.format(part.label or architecture.root.class_name, f"{part.macs / whole:.1%}")
        yield Topic(name, text, partial(_show_formula, workspace, part.path))
    for path in attention_paths(architecture)[:1]:
        cost = head_cost(architecture, path, values)
        if cost is None:
            continue
        output = cost.parameters.get("output", 0)
        own = sum(cost.parameters.values()) - output
        layouts = (head_layout(architecture, one) for one in architecture.tensors_below(path))
        size = next((layout.size for layout in layouts if layout is not None), 0)
        about = translate("palette", "size {0}, {1} parameters without W_O")
        about = about.format(size, f"{own:,}")
        if output:
            about += translate("palette", ", {0} with W_O").format(f"{own + output:,}")
        name = translate("palette", "one attention head")
        yield Topic(name, about, partial(_show_formula, workspace, path))


def _attention(architecture: Architecture, workspace: Workspace) -> Iterator[Topic]:
    """Yield the context length, and whether attention is causal."""
    room = position_table_length(architecture)
    if room is not None:
        yield Topic(
            translate("palette", "context length"),
            translate("palette", "at most {0} tokens in one text").format(f"{room:,}"),
            partial(_show_page, workspace, "", Page.CONFIGURATION),
        )
    yes = translate("palette", "yes: no token sees a later one")
    no = translate("palette", "no: each token also sees later ones")
    first = {_stack(path): path for path in reversed(attention_paths(architecture))}
    for path in reversed(first.values()):
        hides = is_causal(architecture, path)
        if hides is not None and not is_cross_attention(path):
            about = f"{yes if hides else no}, {path}"
            yield Topic(_causal(), about, partial(_show_formula, workspace, path))


def _most_expensive() -> str:
    return translate("palette", "most expensive part")


def _causal() -> str:
    return translate("palette", "causal attention")


def _stack(path: str) -> tuple[str, ...]:
    """Return a path without layer numbers, which identifies its stack."""
    return tuple("" if part.isdecimal() else part for part in path.split("."))


def questions(
    architecture: Architecture, run: ActivationRun | None, workspace: Workspace
) -> Iterator[Topic]:
    """Yield common questions about the modules and, with a run, about its views."""
    asked: set[str] = set()
    for node in _different(architecture):
        for answer in answers_for_module(architecture, node, run):
            if answer.name not in asked:
                asked.add(answer.name)
                choose = partial(_show_question, workspace, Page.MODULE, answer, node.path)
                yield Topic(answer.question, answer.text, choose)
    if run is None:
        return
    for title in get_args(ViewTitle):
        for answer in answers_for_view(title, architecture, run):
            if answer.name not in asked:
                asked.add(answer.name)
                choose = partial(_show_question, workspace, Page(title), answer, answer.path)
                yield Topic(answer.question, answer.text, choose)


def _different(architecture: Architecture) -> Iterator[ModuleNode]:
    """Yield the first module of each class and name; others have the same questions."""
    seen: set[tuple[str, str]] = set()
    for node in architecture.modules:
        kind = node.class_name, "" if node.name.isdecimal() else node.name
        if kind not in seen:
            seen.add(kind)
            yield node
            if len(seen) == MAX_MODULES:
                return


def _layer_name(path: str) -> str:
    """Return the name of a module's layer, as "decoder layer 3"; "" outside of layers."""
    layer = outermost_layer(path)
    if layer is None:
        return ""
    side = "decoder " if "decoder" in path.split(".") else ""
    return f"{side}{translate('palette', 'layer {0}').format(layer.rpartition('.')[2])}"


def _show_head(workspace: Workspace, path: str, head: int) -> None:
    workspace.selection.go(SelectionKey(path, head=head))
    workspace.show_page(Page.MAP if workspace.runs.run is None else Page.ATTENTION)


def _show_page(workspace: Workspace, path: str, page: Page) -> None:
    workspace.selection.select(path)
    workspace.show_page(page)


def _show_formula(workspace: Workspace, path: str) -> None:
    _show_page(workspace, path, Page.FORMULA)


def _show_key(workspace: Workspace, key: str) -> None:
    workspace.show_page(Page.CONFIGURATION, key)


def _show_question(workspace: Workspace, page: Page, answer: Answer, path: str) -> None:
    workspace.selection.select(path)
    workspace.show_page(page, Question(answer.name))

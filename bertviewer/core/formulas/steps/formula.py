"""Flow to ``Formula``: what a module computes, one line a step, as the code ran."""

import re
from collections.abc import Mapping
from dataclasses import replace

from bertviewer.core.architecture.flow import KnownOperation
from bertviewer.core.formulas.formula import Formula
from bertviewer.core.formulas.graph import MANY, ModuleGraph
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import TARGET, TOKENS, quoted
from bertviewer.core.formulas.steps.inlining import own_steps
from bertviewer.core.formulas.steps.legend import Legend
from bertviewer.core.formulas.steps.lines import lines
from bertviewer.core.formulas.steps.loops import folded
from bertviewer.core.formulas.steps.naming import PLAIN, Names, Naming
from bertviewer.core.formulas.steps.operations import OPERATIONS
from bertviewer.core.formulas.steps.writer import Writer
from bertviewer.core.formulas.templates.template import Match

SOURCE = "traced from the code"
NO_LOOPS: Mapping[str, int] = {}


def formula_of_steps(view: ModuleView) -> Formula | None:
    """Return what a module computes, one line per step; ``None`` if it was not traced."""
    graph, flows = view.graph, view.architecture.flows
    if graph is None or flows is None:
        return None
    found = folded(graph)
    if len(found.steps.steps) > MANY and view.calls is not None:
        found = folded(view.calls)
    written = write(found.steps, view, rounds=found.rounds)
    return Formula(
        title=view.node.class_name,
        summary=_summary(found.steps),
        maths=written.maths or (f"Y = {quoted(view.node.class_name)}(X)",),
        terms=written.terms,
        notes=_notes(flows.lengths),
        source=SOURCE,
    )


def write(
    graph: ModuleGraph,
    view: ModuleView,
    naming: Naming = PLAIN,
    rounds: Mapping[str, int] = NO_LOOPS,
) -> Match:
    """Return a graph's lines and terms; ``rounds`` tells how often the steps of a loop are done."""
    graph = graph.up_to(len(naming.results)) if naming.results else graph
    own = own_steps(graph, rounds) | {node for node, parts in naming.symbols if not parts}
    names, legend = Names(graph, view, naming, own), Legend(view, naming.teaches)
    maths = tuple(lines(Writer(graph, view, names, legend, OPERATIONS), rounds))
    for symbol, meaning in naming.meanings.items():
        legend.add(symbol, meaning)
    known, whole = naming.meanings, " ".join(maths)
    terms = [
        replace(term, meaning=known.get(term.symbol, term.meaning))
        for term in (TOKENS, TARGET, *legend.terms.values())
        if re.search(rf"(?<![\w\"]){re.escape(term.symbol)}(_e\b|(?!\w))", whole)
    ]
    return Match(maths, tuple(terms), is_lettered=True)


def match_of_steps(view: ModuleView, **values: object) -> Match | None:
    """Return what a module computes for a template; the note on its steps is ``{steps}``."""
    written = formula_of_steps(view)
    if written is None:
        return None
    values = {"steps": " ".join(written.notes), **values}
    return Match(written.maths, written.terms, values, is_lettered=True)


_WORDS: Mapping[KnownOperation, str] = {
    "attention": "attention",
    "feed-forward": "a feed-forward network",
    "gated feed-forward": "a gated feed-forward network",
    "experts": "a mixture of experts",
    "convolution": "a convolution",
    "embedding": "a table lookup",
    "residual": "a residual connection",
    "layer norm": "a layer norm",
    "rms norm": "an RMS norm",
    "rotary": "rotary position embedding",
    "linear": "a linear layer",
    "activation": "an activation",
}


def _summary(steps: ModuleGraph) -> str:
    if not steps.steps:
        if any(node.kind == "constant" for node in steps.given.values()):
            return "Its output depends on positions, masks or its own constants, not on the text."
        return "Returns its input in another form or in part, without computing anything."
    done = [step.node for step in steps.steps]
    known = [word for kind, word in _WORDS.items() if any(node.operation == kind for node in done)]
    if len(done) == 1:
        return f"One step, as the code executes it{': ' if known else ''}{''.join(known)}."
    steps_told = f"{len(done)} steps, as the code executes them"
    if not known:
        return f"{steps_told}."
    told = known[0] if len(known) == 1 else f"{', '.join(known[:-1])} and {known[-1]}"
    return f"{steps_told}, including {told}."


def _notes(lengths: Mapping[str, int]) -> tuple[str, ...]:
    tokens = lengths.get("S")
    length = f" with {tokens} tokens; the shapes are for that length" if tokens else ""
    return (
        f"These are the steps of the code, traced from one forward pass{length}. Views, "
        "transposes, casts and dropout (which has no effect in evaluation mode) are omitted.",
    )

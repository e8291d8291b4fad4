"""Modules that turn token ids into vectors."""

from dataclasses import replace

from bertviewer.core.formulas.facts import drops_out
from bertviewer.core.formulas.formula import Formula
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import sized
from bertviewer.core.formulas.notes import Note
from bertviewer.core.formulas.steps.formula import formula_of_steps
from bertviewer.core.formulas.templates.norm import NORMS, Norm
from bertviewer.core.formulas.templates.template import Template
from bertviewer.core.formulas.templates.vector_sum import (
    VectorSum,
    read_lookup,
    read_sum,
    sum_notes,
)
from bertviewer.core.text.numerals import count_text


def _embeddings(view: ModuleView) -> Formula | None:
    """Word, segment and position vectors added, then normalised (Devlin et al. 2019, section 3)."""
    graph = view.graph
    if graph is None or len(graph.results) != 1 or len(graph.steps) < 2:
        return None
    found = read_sum(view, graph.results[0][1])
    if found is None or found.of("token") is None:
        return None
    narrow = found.lookups[0].width
    maths = [f"{sized('e_s' if found.after else 'y_s', narrow)} = {found.total}{found.shift}"]
    if found.after:
        maths.append(f"{sized('y_s', found.width)} = {found.finished('e_s')}")
    norm = found.norm
    return Formula(
        title="Embeddings",
        summary=_summary(found),
        maths=tuple(maths),
        terms=found.terms,
        notes=(
            *sum_notes(found),
            *((_dropout_last(norm),) if norm else ()),
        ),
        config_keys=tuple(
            dict.fromkeys(
                view.keys(
                    "vocabulary",
                    "embedding width",
                    "width",
                    *(("positions",) if found.of("position") else ()),
                    *(("token types",) if found.of("segment") else ()),
                    "padding",
                    "embedding scale",
                    "epsilon",
                    "dropout",
                    "embedding dropout",
                )
            )
        ),
        source="Devlin et al. 2019, section 3 and figure 2",
    )


def _dropout_last(norm: Norm) -> Note:
    return Note(
        f"Dropout follows the {norm.name} during training; in evaluation mode it has no effect.",
        drops_out,
    )


def _summary(found: VectorSum) -> str:
    start = "Maps token ids to vectors: looks up"
    normalises = found.norm is not None
    if len(found.lookups) == 1:
        return f"{start} a vector for each token{' and normalises it' if normalises else ''}."
    listed = ["the token"]
    if found.of("position") or found.of("sinusoids"):
        listed.append("its position")
    if found.of("segment"):
        listed.append("its segment")
    others = sum(not each.kind for each in found.lookups)
    if others:
        listed.append(count_text(others, "another property", "{0} other properties"))
    told = f"{', '.join(listed[:-1])} and {listed[-1]}"
    if normalises:
        return f"{start} one vector each for {told}, adds them and normalises the sum."
    return f"{start} one vector each for {told} and adds them."


_SIMPLE = (
    *("embedding", "look-up", "index_select", "add", "residual", "mul", "cat", "pad", "linear"),
    *NORMS,
)


def _by_steps(view: ModuleView) -> Formula | None:
    """Embeddings that combine their tables in an unusual way, as MobileBERT's do."""
    graph = view.graph
    if graph is None or len(graph.results) != 1 or len(graph.results[0][0].shape) != 3:
        return None
    lookups = [found for step in graph.steps if (found := read_lookup(view, step)) is not None]
    if not any(each.kind == "token" for each in lookups) or len(graph.steps) < 2:
        return None
    plain = (step.operation for step in graph.steps if read_lookup(view, step) is None)
    steps = formula_of_steps(view) if all(each in _SIMPLE for each in plain) else None
    if steps is None:
        return None
    return replace(
        steps,
        title="Embeddings",
        summary="Maps token ids to vectors: looks up rows of "
        f"{count_text(len(lookups), '1 table', '{0} tables')} and combines them.",
        config_keys=view.keys("vocabulary", "embedding width", "width", "padding"),
    )


EMBEDDINGS = (
    Template("embeddings", _embeddings),
    Template("embeddings", _by_steps),
)

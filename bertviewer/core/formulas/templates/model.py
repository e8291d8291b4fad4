"""Base models: embeddings, layers and what follows them."""

from collections.abc import Iterator

from bertviewer.core.analysis.causality import is_causal
from bertviewer.core.formulas.formula import Formula, Term
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import TOKENS, sized
from bertviewer.core.formulas.templates.encoder_decoder import (
    KEYS,
    by_steps,
    encoder_decoder,
    pair_in_child,
    reads_data,
)
from bertviewer.core.formulas.templates.model_notes import (
    KINDS_OF_LAYERS,
    bias_notes,
    direction_notes,
    is_tower,
    mixing_notes,
    mixing_of,
    pooled,
    position_notes,
    pre_norm_note,
    seen_in_words,
    source_of,
    texts,
    tower_summary,
    uncalled_notes,
)
from bertviewer.core.formulas.templates.norm import Norm, is_norm
from bertviewer.core.formulas.templates.parts import Part, Parts, Run, is_stack, layered, parts_of
from bertviewer.core.formulas.templates.stack import (
    LAYER_TERM,
    Extra,
    extras_of,
    layers_line,
    layers_term,
)
from bertviewer.core.formulas.templates.start import (
    input_term,
    length_of,
    start_of,
    title_case,
)
from bertviewer.core.formulas.templates.template import Template

_NO_POOLER = "This model has no pooler: heads read the last hidden state directly."


def _model(view: ModuleView) -> Formula | None:
    parts = parts_of(view)
    if parts is None or not parts.graph.results:
        return None
    runs = [run for run in parts.runs if is_stack(parts, run)]
    children = layered(parts)
    if not runs and not children:
        return None
    if not runs and len(children) == 2:
        return encoder_decoder(parts, *children)
    if not runs and len(children) == 1:
        if len(parts.parts) == 1:
            return _wrapper(parts, children[0])
        return pair_in_child(parts, children[0]) or _base(parts, children[0])
    if len(runs) == 1 and not children:
        return _stack_model(parts, runs[0])
    return by_steps(parts)


def _stack_model(parts: Parts, run: Run) -> Formula | None:
    """A model that applies its layers itself, or an encoder or decoder with its embeddings."""
    view, graph = parts.view, parts.graph
    start = start_of(parts, run.start)
    result = graph.maker(graph.results[0][1])
    norm = None
    if result is not None and is_norm(result) and result.node.id != run.last.node.id:
        norm, result = Norm.of(result), graph.maker(result.tensors[0])
    if start is None or result is None or result.node.id != run.last.node.id:
        return by_steps(parts)
    extras = extras_of(parts, run)
    title, summary = texts(view, parts)
    if is_tower(view) and start.vectors is not None:
        kind = "Decoder" if extras or is_causal(view.architecture, view.node.path) else "Encoder"
        title = f"{kind} with its embeddings"
        summary = tower_summary(start.vectors, norm)
    if not reads_data(parts):
        title, summary = "Stack of layers", _layers_summary(run)
    shape = graph.results[0][0].shape
    length, width = length_of(view, shape), shape[-1]
    last = f"{norm.operator}(X_{run.count})" if norm else f"X_{run.count}"
    pooling = pooled(parts, f"{sized('Y', length, width)} = {last}")
    terms = [*((TOKENS,) if length == "S" else ()), *start.terms, LAYER_TERM, layers_term(run)]
    terms += [term for each in extras for term in each.terms]
    terms += () if norm is None else norm.terms
    lines = (*start.lines, *_extra_lines(extras), layers_line(run, extras), *pooling[0])
    return Formula(
        title=title,
        summary=summary,
        maths=lines,
        terms=_distinct([*terms, *pooling[1]]),
        notes=(
            *position_notes(view, start),
            *bias_notes(parts, run),
            *(note for each in extras for note in each.notes),
            *mixing_notes(view),
            *pre_norm_note(parts, run, norm),
            KINDS_OF_LAYERS,
            *direction_notes(view, parts),
            *(pooling[2] or ((_NO_POOLER,) if start.embeddings is not None else ())),
        ),
        config_keys=view.keys(*KEYS),
        source=source_of(view, start, norm),
    )


def _layers_summary(run: Run) -> str:
    return f"Runs {run.count} layers in sequence, each with its own weights."


def _extra_lines(extras: tuple[Extra, ...]) -> Iterator[str]:
    for each in extras:
        if each.line:
            yield each.line


def _distinct(terms: list[Term]) -> tuple[Term, ...]:
    """Return the first term of each symbol."""
    found: dict[str, Term] = {}
    for term in terms:
        found.setdefault(term.symbol, term)
    return tuple(found.values())


def _wrapper(parts: Parts, child: Part) -> Formula | None:
    """A module that only calls its encoder or decoder."""
    view = parts.view
    shape = child.last.node.shape
    title, summary = texts(view, parts)
    name = title_case(child.name)
    inputs = [node for node in parts.graph.inputs if "mask" not in node.name]
    terms = [input_term(node) for node in inputs]
    length = length_of(view, shape)
    symbols = ", ".join(term.symbol for term in terms)
    return Formula(
        title=title,
        summary=summary,
        maths=(f'{sized("Y", length, shape[-1])} = "{name}"({symbols})',),
        terms=(
            *((TOKENS,) if length == "S" else ()),
            *terms,
            Term("Y", "last hidden state"),
        ),
        notes=(
            "It is the encoder of an encoder-decoder; this model has no decoder."
            if child.name == "encoder" and "shared" in view.children
            else f"All is computed by the child “{child.name}”, embeddings included.",
        ),
        config_keys=view.keys("vocabulary", "width", "layers", "heads", "feed-forward"),
        source="Raffel et al. 2020, section 2.1"
        if child.name == "encoder"
        else "Vaswani et al. 2017, section 3.1",
    )


def _base(parts: Parts, child: Part) -> Formula | None:
    """Embeddings, a child with the layers and, if there is one, a pooler (Devlin et al. 2019)."""
    view, graph = parts.view, parts.graph
    tensors = [operand for role, operand in child.inputs if role in (None, "residual")]
    kinds = {each.node: graph.given[each.node].kind for each in tensors if each.node in graph.given}
    main = next((each for each in tensors if kinds.get(each.node, "input") == "input"), None)
    start = None if main is None else start_of(parts, main)
    own = {step.node.id for step in child.steps}
    result = graph.maker(graph.results[0][1])
    norm = None
    if result is not None and is_norm(result) and result.node.id not in own:
        norm, result = Norm.of(result), graph.maker(result.tensors[0])
    if start is None or result is None or result.node.id not in own:
        return by_steps(parts)
    shape = graph.results[0][0].shape
    if len(shape) != 3:
        return by_steps(parts)
    length, width = length_of(view, shape), shape[-1]
    called = '"Encoder"(X_0)'
    line = f"{norm.operator}({called})" if norm else called
    pooling = pooled(parts, f"{sized('Y', length, width)} = {line}")
    title, summary = texts(view, parts)
    return Formula(
        title=title,
        summary=summary,
        maths=(*start.lines, *pooling[0]),
        terms=_distinct(
            [
                *((TOKENS,) if length == "S" else ()),
                *start.terms,
                Term("Y", "last hidden state, one row per position"),
                *(() if norm is None else norm.terms),
                *pooling[1],
            ]
        ),
        notes=(
            f"“{child.name}” holds the stack of layers{seen_in_words(view, parts)}.",
            *mixing_notes(view),
            *position_notes(view, start),
            *uncalled_notes(view, parts),
            *(pooling[2] or (_NO_POOLER,)),
        ),
        config_keys=view.keys("vocabulary", "width", "layers", "heads", "feed-forward"),
        source="Devlin et al. 2019, section 3"
        if "vocab_size" in view.config and mixing_of(view) != "fourier"
        else source_of(view, start, norm),
    )


def _tower(view: ModuleView) -> Formula | None:
    """An encoder or decoder with its embeddings, or layers after a short computation."""
    parts = parts_of(view)
    if parts is None or len(parts.runs) != 1 or layered(parts) or not parts.graph.results:
        return None
    run = parts.runs[0]
    start = start_of(parts, run.start) if is_stack(parts, run) else None
    if start is None or (reads_data(parts) and (start.embeddings or not is_tower(view))):
        return None
    return _stack_model(parts, run)


MODELS = (Template("stack", _tower), Template("base model", _model))

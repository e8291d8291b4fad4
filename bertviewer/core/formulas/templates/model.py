"""Base models, encoders and decoders: embeddings, layers, and what follows them."""

from dataclasses import replace
from functools import partial

from bertviewer.core.analysis.causality import is_causal
from bertviewer.core.formulas.facts import has_two_kinds_of_layers, shares_its_table
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notes import Note
from bertviewer.core.formulas.steps.formula import write
from bertviewer.core.formulas.steps.naming import Naming
from bertviewer.core.formulas.steps.origins import Place
from bertviewer.core.formulas.templates.embeddings import lookups_of
from bertviewer.core.formulas.templates.layers import runs_of, stacks_of
from bertviewer.core.formulas.templates.model_facts import (
    about,
    direction,
    embeddings_of,
    is_tower,
    model_values,
    reads_data,
)
from bertviewer.core.formulas.templates.norm import Norm, is_norm
from bertviewer.core.formulas.templates.residual import residual_path
from bertviewer.core.formulas.templates.stack import EXTRA_NOTES, calls_of, extras_of
from bertviewer.core.formulas.templates.template import Match, Template
from bertviewer.core.graph.module_graph import ModuleGraph, Step

_ENCODER = 'X_"enc"'
_VECTORS = ('X_"src"', 'X_"tgt"')
_MEANINGS = {
    "X_0": "input of the first layer",
    "Y": "last hidden state, one row per position",
    "y_0": "row of Y of the first position",
    "y_e": "row of Y of the end-of-text token",
}
_PAIR_MEANINGS = {
    _ENCODER: "the encoder’s output",
    "Y": "the decoder’s last hidden state, one row per target position",
    'X_"src"': "embedded source sequence",
    'X_"tgt"': "embedded target sequence so far",
}


def _text(view: ModuleView) -> tuple[str, str, str]:
    """Return role, title and summary of a module that applies layers, "" for other modules."""
    calls, runs, stacks = view.calls, runs_of(view), stacks_of(view)
    if calls is None or not calls.results or not (runs or stacks) or view.node.name.isdecimal():
        return "", "", ""
    is_sole, kinds = len(runs) == 1 and not stacks, [each.kind for each in lookups_of(view)]
    if is_sole and not reads_data(calls):
        runs_all = f"Runs {calls_of(runs[0])} layers in sequence, each with its own weights."
        return "stack", "Stack of layers", runs_all
    if is_sole and is_tower(view) and "token" in kinds:
        reads_encoder = any("encoder" in node.name for node in calls.inputs)
        is_decoder = reads_encoder or is_causal(view.architecture, view.node.path)
        adds = len(kinds) > 1 or bool(calls.of("add", "residual"))
        title = f"{'Decoder' if is_decoder else 'Encoder'} with its embeddings"
        return "stack", title, _summary(calls, adds=adds)
    is_usual = len(runs) + len(stacks) == 1 or reads_data(calls)
    return ("base model", *about(view)) if is_usual else ("", "", "")


def _summary(calls: ModuleGraph, *, adds: bool) -> str:
    """Return what an encoder or decoder does that looks tokens up itself."""
    norms = [step for step in calls.steps if is_norm(step)]
    is_last = bool(norms) and calls.is_result(norms[-1])
    if not adds:
        end = " and normalises the result" if is_last else ""
        return f"Looks up token vectors, applies the layers in sequence{end}."
    added = "adds and normalises them" if len(norms) > is_last else "adds them"
    return f"Looks up token and position vectors, {added}, and applies the layers in sequence."


def _model(role: str, view: ModuleView) -> Match | None:
    """A module that applies its layers itself or in a child (Devlin et al. 2019, section 3)."""
    calls, runs, stacks = view.calls, runs_of(view), stacks_of(view)
    kind, title, summary = _text(view)
    if calls is None or kind != role:
        return None
    run = runs[0] if len(runs) == 1 and not stacks else None
    stack = stacks[0] if len(stacks) == 1 and not runs else None
    (symbols, meanings, extra), pooled = extras_of(view, run), None
    start = None if stack is None else calls.maker(next(iter(stack.tensors), None))
    if start is not None and len(start.ids) == 1:
        symbols[start.node.id, ()] = "X_0"
    ranks = [len(node.shape) for node, _ in calls.results[:2]]
    results = ("Y", "p") if ranks == [3, 2] else ("Y",) if ranks[0] == 3 else ()
    meanings |= _MEANINGS
    if len(results) > 1:
        meanings["p"] = "pooled output: one vector for the whole sequence"
        pooled = calls.maker(calls.results[1][1])
    is_row = pooled is not None and pooled.operation == "look-up"
    is_base = stack is not None and len(calls.steps) > 1
    is_alone = not is_base and "shared" in view.children
    last = calls.maker(calls.results[0][1])
    naming = Naming(
        results,
        symbols,
        assumed={pooled.node.id: "y_e"} if pooled is not None and is_row else {},
        meanings=meanings,
        functions={stack.node.id: '"Encoder"'} if stack is not None and is_base else {},
        teaches=True,
    )
    holds_lookups = run is not None and embeddings_of(view) is not None
    values = {
        "title": title,
        "summary": summary,
        **extra,
        **model_values(view, run, Norm.of(last) if is_norm(last) else None),
        "direction": direction(view) if run is not None or is_base else "",
        "final_norm": _final_norm(view, last, run),
        "no_pooler": len(results) == 1 and (is_base or holds_lookups),
        "stack": stack.node.name if stack is not None and is_base else None,
        "child": stack.node.name if stack is not None and not (is_base or is_alone) else None,
        "alone": stack is not None and is_alone,
    }
    return replace(write(calls, view, naming), values=values)


def _final_norm(view: ModuleView, step: Step | None, run: Step | None) -> str:
    """Return what the norm after pre-norm layers is called, "" for none."""
    layer = None if run is None else view.at(run.parts[-1].node.path or "")
    path = None if layer is None else residual_path(layer)
    if not is_norm(step) or path is None or path.branches[-1].before is None:
        return ""
    return "norm" if "norm" in step.node.name else f"norm ({step.node.name})"


def _pair(view: ModuleView) -> Match | None:
    """An encoder and a decoder that attends to its output (Vaswani et al. 2017, section 3.1).

    Both may be in one child, for which the module looks tokens up.
    """
    calls, stacks = view.calls, stacks_of(view)
    if calls is None or runs_of(view) or not stacks:
        return None
    first, child = stacks[0], view.at(stacks[0].node.path or "")
    is_inside = len(stacks) == 1 and len(calls.steps) > 1 and child is not None
    if not (is_inside and child is not None and len(stacks_of(child)) == 2) and (
        len(stacks) != 2 or first not in [calls.maker(operand) for operand in stacks[1].tensors]
    ):
        return None
    given = [calls.given[o.node].name for o in first.tensors if o.node in calls.given]
    is_text, is_data = is_inside or "input ids" in given, is_inside or reads_data(calls)
    vectors = [node.id for node in calls.inputs if "mask" not in node.name]
    if is_data:
        vectors = [o.node for o in first.tensors] if is_inside else []
    symbols: dict[Place, str] = {} if is_inside else {(first.node.id, ()): _ENCODER}
    symbols |= {(node, ()): symbol for node, symbol in zip(vectors, _VECTORS, strict=False)}
    meanings = _PAIR_MEANINGS | ({"t": "token ids of the source"} if is_text else {})
    tables = (t for t in view.architecture.parameters if t.name.endswith("shared.weight"))
    is_scaled = is_inside and any(o.plain for step in calls.of("mul") for o in step.operands)
    papers = "section 3.1; torch.nn.Transformer"
    if is_data:
        papers = "section 3.1; Lewis et al. 2020; Raffel et al. 2020"
    values = {
        "title": f"Encoder-decoder{' with embeddings' if is_data else ''}",
        "read": "a recording" if is_data and not is_text else "one sequence",
        "made": "a sequence of token ids" if is_data and not is_text else "another",
        "ids": " of token ids" if is_text else "",
        "table": next((str(list(table.shape)) for table in tables), None),
        "data": is_data and not is_inside,
        "vectors": not is_data,
        "inside": is_inside,
        "one table": is_inside and len({s.node.path for s in calls.of("embedding")}) == 1,
        "width": view.width if is_scaled else None,
        "sines": is_inside and any(n.name == "sines and cosines" for n in calls.given.values()),
        "papers": "sections 3.1, 3.4 and 3.5" if is_inside else papers,
    }
    naming = Naming(("Y",), symbols, meanings=meanings, teaches=True)
    return replace(write(calls, view, naming), values=values)


_KEYS = ("vocabulary", "positions", "width", "layers", "heads")
_ALL_KEYS = ("vocabulary", "width", "layers", "heads", "feed-forward")
_NOTES = (
    *EXTRA_NOTES,
    "“{stack}” holds the stack of layers.",
    "All is computed by the child “{child}”, embeddings included.",
    Note("It is the encoder of an encoder-decoder; this model has no decoder.", "alone"),
    "{position_note}",
    "{rotated}",
    "{bias}",
    "{mixing}",
    "The layers are pre-norm, so a final {final_norm} follows the last one.",
    Note(
        "Some layers attend to the whole sequence, the others to a window around each position; "
        "the configuration key layer_types lists which.",
        has_two_kinds_of_layers,
    ),
    "{direction}",
    "“{uncalled}” is not part of a normal forward pass.",
    "{pooling}",
    Note("This model has no pooler: heads read the last hidden state directly.", "no_pooler"),
)
_PAIR_NOTES = (
    Note(
        "Encoder and decoder look up tokens in the same table, “shared”, {table}: it is listed "
        "wherever it is used but counted once.",
        shares_its_table,
    ),
    Note(
        "The decoder’s input starts with decoder_start_token_id, so that position s predicts "
        "token s of the target.",
        "data",
    ),
    Note("Source and target look up tokens in the same table.", "one table"),
    "The token vectors are multiplied by √{width}, the square root of the embedding size, before "
    "the position encodings are added.",
    Note(
        "The target is masked: each of its positions attends only to itself and earlier ones.",
        "inside",
    ),
    Note(
        "Sinusoids need no parameters: they are computed for as many positions as the sequence "
        "has.",
        "sines",
    ),
    Note(
        "torch.nn.Transformer has neither embeddings nor an output layer; its inputs are already "
        "vectors.",
        "vectors",
    ),
    Note(
        "PyTorch adds a final layer norm after each stack, which the paper does not have.",
        "vectors",
    ),
    Note(
        "Masks are passed by the caller: without a target mask, the decoder also attends to later "
        "positions.",
        "vectors",
    ),
)
_READS = (
    "The encoder reads {read}{ids}; the decoder generates {made}, attending to the encoder’s "
    "output."
)
_TEXTS = ("{title}", "{summary}", _NOTES)
MODELS = (
    Template("stack", partial(_model, "stack"), *_TEXTS, _KEYS, "{source}"),
    Template(
        *("base model", _pair, "{title}", _READS, _PAIR_NOTES, _ALL_KEYS),
        "Vaswani et al. 2017, {papers}",
    ),
    Template("base model", partial(_model, "base model"), *_TEXTS, _ALL_KEYS, "{source}"),
)

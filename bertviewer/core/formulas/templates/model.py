"""Base models, encoders and decoders: embeddings, layers, and what follows them."""

from dataclasses import replace

from bertviewer.core.analysis.causality import is_causal
from bertviewer.core.formulas.facts import has_two_kinds_of_layers, shares_its_table
from bertviewer.core.formulas.graph import ModuleGraph, Step
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notes import Note
from bertviewer.core.formulas.steps.formula import write
from bertviewer.core.formulas.steps.naming import Naming
from bertviewer.core.formulas.steps.origins import Place
from bertviewer.core.formulas.templates.embeddings import lookups_of
from bertviewer.core.formulas.templates.layers import runs_of, stacks_of
from bertviewer.core.formulas.templates.model_facts import (
    about,
    embeddings_of,
    is_tower,
    model_values,
    reads_data,
)
from bertviewer.core.formulas.templates.norm import Norm, is_norm
from bertviewer.core.formulas.templates.residual import residual_path
from bertviewer.core.formulas.templates.stack import EXTRA_NOTES, Extras, calls_of, extras_of
from bertviewer.core.formulas.templates.template import Match, Template

_ENCODER = 'X_"enc"'


def _tower(view: ModuleView) -> Match | None:
    """An encoder or decoder with its embeddings, or layers after a short computation."""
    calls, runs = view.calls, runs_of(view)
    if calls is None or len(runs) != 1 or stacks_of(view) or not calls.results:
        return None
    kinds = [each.kind for each in lookups_of(view)]
    if not reads_data(calls):
        if view.node.name.isdecimal():
            return None
        title = "Stack of layers"
        summary = f"Runs {calls_of(runs[0])} layers in sequence, each with its own weights."
    elif is_tower(view) and "token" in kinds:
        reads_encoder = any("encoder" in node.name for node in calls.inputs)
        is_decoder = reads_encoder or is_causal(view.architecture, view.node.path)
        title = f"{'Decoder' if is_decoder else 'Encoder'} with its embeddings"
        summary = _summary(calls, adds=len(kinds) > 1 or bool(calls.of("add", "residual")))
    else:
        return None
    return _written(view, calls, title=title, summary=summary)


def _summary(calls: ModuleGraph, *, adds: bool) -> str:
    """Return what an encoder or decoder does that looks tokens up itself."""
    norms = [step for step in calls.steps if is_norm(step)]
    is_last = bool(norms) and calls.is_result(norms[-1])
    if not adds:
        end = " and normalises the result" if is_last else ""
        return f"Looks up token vectors, applies the layers in sequence{end}."
    added = "adds and normalises them" if len(norms) > is_last else "adds them"
    return f"Looks up token and position vectors, {added}, and applies the layers in sequence."


def _model(view: ModuleView) -> Match | None:
    """A model that applies its layers itself or in a child (Devlin et al. 2019, section 3)."""
    calls, runs, stacks = view.calls, runs_of(view), stacks_of(view)
    if calls is None or not calls.results or not (runs or stacks) or view.node.name.isdecimal():
        return None
    is_usual = len(runs) + len(stacks) == 1
    if not is_usual and not reads_data(calls):
        return None
    title, summary = about(view)
    return _written(view, calls, title=title, summary=summary)


def _written(view: ModuleView, calls: ModuleGraph, **texts: str) -> Match:
    runs, stacks = runs_of(view), stacks_of(view)
    run = runs[0] if len(runs) == 1 and not stacks else None
    stack = stacks[0] if len(stacks) == 1 and not runs else None
    extras = Extras({}, {}, {}) if run is None else extras_of(view, run)
    symbols = dict(extras.symbols)
    starts = [] if stack is None else [calls.maker(operand) for operand in stack.tensors]
    for start in starts[:1]:
        if start is not None and len(start.ids) == 1:
            symbols[start.node.id, ()] = "X_0"
    unit = "token" if "vocab_size" in view.config else "position"
    meanings = {
        "X_0": "input of the first layer",
        "Y": "last hidden state, one row per position",
        "y_0": f"row of Y of the first {unit}",
        "y_e": "row of Y of the end-of-text token",
        **extras.meanings,
    }
    if len(results := _results(calls)) > 1:
        meanings["p"] = "pooled output: one vector for the whole sequence"
    is_base = stack is not None and len(calls.steps) > 1
    is_alone = stack is not None and not is_base and "shared" in view.children
    naming = Naming(
        results,
        symbols,
        assumed=_rows(calls),
        meanings=meanings,
        functions={stack.node.id: '"Encoder"'} if stack is not None and is_base else {},
        teaches=True,
    )
    values = {
        **texts,
        **extras.values,
        **model_values(view, run, _last_norm(calls)),
        "final_norm": _final_norm(view, calls, run),
        "no_pooler": len(results) == 1
        and (is_base or (run is not None and embeddings_of(view) is not None)),
        "stack": stack.node.name if stack is not None and is_base else None,
        "child": stack.node.name if stack is not None and not (is_base or is_alone) else None,
        "alone": is_alone,
    }
    return replace(write(calls, view, naming), values=values)


def _results(calls: ModuleGraph) -> tuple[str, ...]:
    """Return the symbols of the hidden state, and of a vector for the whole sequence."""
    ranks = [len(node.shape) for node, _ in calls.results[:2]]
    return {(3,): ("Y",), (3, 2): ("Y", "p")}.get(tuple(ranks), ("Y",) if ranks[0] == 3 else ())


def _rows(calls: ModuleGraph) -> dict[str, str]:
    """Return the symbol of the row of the hidden state that is looked up as the second result."""
    step = calls.maker(calls.results[1][1]) if len(calls.results) > 1 else None
    return {} if step is None or step.operation != "look-up" else {step.node.id: "y_e"}


def _last_norm(calls: ModuleGraph) -> Norm | None:
    step = calls.maker(calls.results[0][1])
    return Norm.of(step) if is_norm(step) else None


def _final_norm(view: ModuleView, calls: ModuleGraph, run: Step | None) -> str:
    """Return what the norm after pre-norm layers is called, "" for none."""
    step = calls.maker(calls.results[0][1])
    layer = None if run is None else view.at(run.parts[-1].node.path or "")
    path = None if layer is None else residual_path(layer)
    if step is None or not is_norm(step) or path is None or path.branches[-1].before is None:
        return ""
    return "norm" if "norm" in step.node.name else f"norm ({step.node.name})"


def _pair(view: ModuleView) -> Match | None:
    """An encoder and a decoder that attends to its output (Vaswani et al. 2017, section 3.1)."""
    calls, stacks = view.calls, stacks_of(view)
    if calls is None or runs_of(view) or len(stacks) != 2:
        return None
    first, second = stacks
    if first not in [calls.maker(operand) for operand in second.tensors]:
        return None
    given = [calls.given[o.node] for o in first.tensors if o.node in calls.given]
    is_text, is_data = any(node.name == "input ids" for node in given), reads_data(calls)
    symbols: dict[Place, str] = {(first.node.id, ()): _ENCODER}
    if not is_data:
        vectors = (node.id for node in calls.inputs if "mask" not in node.name)
        symbols |= {(n, ()): s for n, s in zip(vectors, _VECTORS, strict=False)}
    meanings = {
        _ENCODER: "the encoder’s output",
        "Y": "the decoder’s last hidden state, one row per target position",
        'X_"src"': "embedded source sequence",
        'X_"tgt"': "embedded target sequence so far",
        **({"t": "token ids of the source"} if is_text else {}),
    }
    tables = (t for t in view.architecture.parameters if t.name.endswith("shared.weight"))
    read = "one sequence of token ids" if is_text else "a recording"
    made = "another" if is_text else "a sequence of token ids"
    papers = "Lewis et al. 2020; Raffel et al. 2020" if is_data else "torch.nn.Transformer"
    values = {
        "title": "Encoder-decoder with embeddings" if is_data else "Encoder-decoder",
        "read": read if is_data else "one sequence",
        "made": made if is_data else "another",
        "table": next((str(list(table.shape)) for table in tables), None),
        "data": is_data,
        "papers": papers,
    }
    naming = Naming(("Y",), symbols, meanings=meanings, teaches=True)
    return replace(write(calls, view, naming), values=values)


_VECTORS = ('X_"src"', 'X_"tgt"')


def _pair_in_child(view: ModuleView) -> Match | None:
    """Embeddings for an encoder-decoder in a child (Vaswani et al. 2017)."""
    calls, stacks = view.calls, stacks_of(view)
    if calls is None or len(calls.steps) == 1 or len(stacks) != 1:
        return None
    child = view.at(stacks[0].node.path or "")
    if child is None or len(stacks_of(child)) != 2:
        return None
    symbols: dict[Place, str] = {
        (operand.node, ()): symbol
        for operand, symbol in zip(stacks[0].tensors, _VECTORS, strict=False)
    }
    meanings = {
        'X_"src"': "vectors of the source",
        'X_"tgt"': "vectors of the target",
        "Y": "the decoder’s last hidden state, one row per target position",
    }
    is_scaled = any(o.plain for step in calls.of("mul") for o in step.operands)
    values = {
        "width": view.width if is_scaled else None,
        "sines": any(node.name == "sines and cosines" for node in calls.given.values()),
    }
    naming = Naming(("Y",), symbols, meanings=meanings, teaches=True)
    return replace(write(calls, view, naming), values=values)


_KEYS = ("vocabulary", "positions", "width", "layers", "heads")
_ALL_KEYS = ("vocabulary", "width", "layers", "heads", "feed-forward")
_NOTES = (
    *EXTRA_NOTES,
    "“{stack}” holds the stack of layers{seen}",
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
MODELS = (
    Template("stack", _tower, "{title}", "{summary}", _NOTES, _KEYS, "{source}"),
    Template(
        "base model",
        _pair,
        title="{title}",
        summary="The encoder reads {read}; the decoder generates {made}, attending to the "
        "encoder’s output.",
        notes=(
            Note(
                "Encoder and decoder look up tokens in the same table, “shared”, {table}: it is "
                "listed wherever it is used but counted once.",
                shares_its_table,
            ),
            Note(
                "The decoder’s input starts with decoder_start_token_id, so that position s "
                "predicts token s of the target.",
                "data",
            ),
            Note(
                "torch.nn.Transformer has neither embeddings nor an output layer; its inputs are "
                "already vectors.",
                "not data",
            ),
            Note(
                "PyTorch adds a final layer norm after each stack, which the paper does not have.",
                "not data",
            ),
            Note(
                "Masks are passed by the caller: without a target mask, the decoder also attends "
                "to later positions.",
                "not data",
            ),
        ),
        keys=_ALL_KEYS,
        source="Vaswani et al. 2017, section 3.1; {papers}",
    ),
    Template(
        "base model",
        _pair_in_child,
        title="Encoder-decoder with embeddings",
        summary="Reads a source sequence of token ids and generates a target sequence; both share "
        "one token embedding table.",
        notes=(
            "The token vectors are multiplied by √{width}, the square root of the embedding size, "
            "before the position encodings are added.",
            "The target is masked: each of its positions attends only to itself and earlier ones.",
            Note(
                "Sinusoids need no parameters: they are computed for as many positions as the "
                "sequence has.",
                "sines",
            ),
        ),
        keys=("vocabulary", "width", "heads", "feed-forward", "dropout"),
        source="Vaswani et al. 2017, sections 3.1, 3.4 and 3.5",
    ),
    Template("base model", _model, "{title}", "{summary}", _NOTES, _ALL_KEYS, "{source}"),
)

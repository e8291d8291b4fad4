"""Base models, encoders and decoders: embeddings, layers, and what follows them."""

from msgspec.structs import replace

from bertviewer.core.analysis.attention_modules import is_causal
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.steps.formula import write
from bertviewer.core.formulas.steps.naming import Naming
from bertviewer.core.formulas.steps.origins import Place
from bertviewer.core.formulas.templates import model_facts
from bertviewer.core.formulas.templates.embeddings import lookups_of
from bertviewer.core.formulas.templates.layers import is_tower, runs_of, stacks_of, uncalled
from bertviewer.core.formulas.templates.norm import Norm, is_norm
from bertviewer.core.formulas.templates.residual import residual_path
from bertviewer.core.formulas.templates.stack import calls_of, given_to
from bertviewer.core.formulas.templates.template import Match, Template
from bertviewer.core.graph.module_graph import ModuleGraph, Step

_ENCODER = 'X_"enc"'
_VECTORS = ('X_"src"', 'X_"tgt"')
_MEANINGS = {
    "X_0": "input of the first layer",
    "Y": "last hidden state, one row per position",
    "y_0": "row of Y of the first position",
}
_PAIR_MEANINGS = {
    _ENCODER: "the encoder’s output",
    "Y": "the decoder’s last hidden state, one row per target position",
    'X_"src"': "embedded source sequence",
    'X_"tgt"': "embedded target sequence so far",
}


def _model(view: ModuleView) -> Match | None:
    """A module that applies its layers itself or in a child (Devlin et al. 2019, section 3)."""
    calls, runs, stacks = view.calls, runs_of(view), stacks_of(view)
    if calls is None or not calls.results or not (runs or stacks) or view.node.name.isdecimal():
        return None
    if not runs and (pair := _pair(view, calls, stacks)) is not None:
        return pair
    run = runs[0] if len(runs) == 1 and not stacks else None
    stack = stacks[0] if len(stacks) == 1 and not runs else None
    if run is None and stack is None and not model_facts.reads_data(calls):
        return None
    start = None if stack is None else calls.maker(next(iter(stack.tensors), None))
    ranks = [len(node.shape) for node, _ in calls.results[:2]]
    results = ("Y", "p") if ranks == [3, 2] else ("Y",) if ranks[0] == 3 else ()
    pooled = calls.maker(calls.results[1][1]) if len(results) > 1 else None
    is_base = stack is not None and len(calls.steps) > 1
    is_alone = not is_base and "shared" in view.children
    naming = Naming(
        results,
        symbols={(start.node.id, ()): "X_0"} if start is not None and len(start.ids) == 1 else {},
        meanings=_MEANINGS
        | ({"p": "pooled output: one vector for the whole sequence"} if results[1:] else {}),
        functions={stack.node.id: '"Encoder"'} if stack is not None and is_base else {},
    )
    role, title, summary = _about(view, calls, run)
    mixing, last = model_facts.mixing_of(view), calls.maker(calls.results[0][1])
    holds_lookups = run is not None and model_facts.embeddings_of(view) is not None
    values = {
        "role": role,
        "is_stack": role == "stack",
        "title": title,
        "summary": summary,
        "position_note": lookups_of(view).get("position", (0, ""))[1],
        "rotated": model_facts.rotated(view),
        "given": "" if run is None else given_to(run, calls, view).note,
        "bias": run and model_facts.distance_bias(view, run),
        "mixing": model_facts.MIXING.get(mixing),
        "pooling": pooled and model_facts.pooling(view, pooled),
        "source": model_facts.source_of(
            view,
            Norm.of(last) if is_norm(last) else None,
            mixing,
            is_text="vocab_size" in view.config and run is None,
        ),
        "two kinds": len(set(view.config.get("layer_types") or ())) > 1,
        "direction": model_facts.direction(view) if run is not None or is_base else "",
        "final_norm": _final_norm(view, last, run),
        "no_pooler": len(results) == 1 and (is_base or holds_lookups),
        "stack": stack.node.name if stack is not None and is_base else "",
        "child": stack.node.name if stack is not None and not (is_base or is_alone) else "",
        "alone": stack is not None and is_alone,
        "unused": next((name for name in uncalled(view) if name.endswith("_head")), ""),
    }
    return replace(write(calls, view, naming), values=values)


def _about(view: ModuleView, calls: ModuleGraph, run: Step | None) -> tuple[str, str, str]:
    """Return role, title and summary of a module that applies layers; ``run`` are its own."""
    kinds = lookups_of(view)
    if run is not None and not model_facts.reads_data(calls):
        runs_all = f"Runs {calls_of(run)} layers in sequence, each with its own weights."
        return "stack", "Stack of layers", runs_all
    if run is None or "token" not in kinds or not is_tower(view):
        return ("base model", *model_facts.about(view))
    reads_encoder = any("encoder" in node.name for node in calls.inputs)
    is_decoder = reads_encoder or is_causal(view.architecture, view.node.path)
    title = f"{'Decoder' if is_decoder else 'Encoder'} with its embeddings"
    norms = [step for step in calls.steps if is_norm(step)]
    is_last = bool(norms) and calls.is_result(norms[-1])
    if len(kinds) == 1 and not calls.of("add", "residual"):
        end = " and normalises the result" if is_last else ""
        return "stack", title, f"Looks up token vectors, applies the layers in sequence{end}."
    added = "adds and normalises them" if len(norms) > is_last else "adds them"
    looks_up = f"Looks up token and position vectors, {added}, and applies the layers in sequence."
    return "stack", title, looks_up


def _final_norm(view: ModuleView, step: Step | None, run: Step | None) -> str:
    """Return what the norm after pre-norm layers is called, "" for none."""
    layer = None if run is None else view.at(run.parts[-1].node.path or "")
    path = None if layer is None else residual_path(layer)
    if not is_norm(step) or path is None or path.branches[-1].before is None:
        return ""
    return "norm" if "norm" in step.node.name else f"norm ({step.node.name})"


def _pair(view: ModuleView, calls: ModuleGraph, stacks: tuple[Step, ...]) -> Match | None:
    """An encoder and a decoder that attends to its output (Vaswani et al. 2017, section 3.1).

    Both may be in one child, for which the module looks tokens up.
    """
    first, child = stacks[0], view.at(stacks[0].node.path or "")
    is_inside = len(stacks) == 1 and len(calls.steps) > 1 and child is not None
    if not (is_inside and child is not None and len(stacks_of(child)) == 2) and (
        len(stacks) != 2 or first not in [calls.maker(operand) for operand in stacks[1].tensors]
    ):
        return None
    given = [calls.given[o.node].name for o in first.tensors if o.node in calls.given]
    is_text = is_inside or "input ids" in given
    is_data = is_inside or model_facts.reads_data(calls)
    vectors = [node.id for node in calls.inputs if "mask" not in node.name]
    if is_data:
        vectors = [o.node for o in first.tensors] if is_inside else []
    symbols: dict[Place, str] = {} if is_inside else {(first.node.id, ()): _ENCODER}
    symbols |= {(node, ()): symbol for node, symbol in zip(vectors, _VECTORS, strict=False)}
    meanings = _PAIR_MEANINGS | ({"t": "token ids of the source"} if is_text else {})
    tensors, shared = view.architecture.parameters, "shared.weight"
    used = ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight")
    tables = [t.tied_to or "" for t in tensors if t.name.endswith(used)]
    is_scaled = is_inside and any(o.plain for step in calls.of("mul") for o in step.operands)
    papers = "section 3.1; torch.nn.Transformer"
    if is_data:
        papers = "section 3.1; Lewis et al. 2020; Raffel et al. 2020"
    values = {
        "title": f"Encoder-decoder{' with embeddings' if is_data else ''}",
        "read": "a recording" if is_data and not is_text else "one sequence",
        "made": "a sequence of token ids" if is_data and not is_text else "another",
        "ids": " of token ids" if is_text else "",
        "table": next((str(list(t.shape)) for t in tensors if t.name.endswith(shared)), None),
        "shares": len(tables) == 2 and all(name.endswith(shared) for name in tables),
        "data": is_data and not is_inside,
        "vectors": not is_data,
        "inside": is_inside,
        "one table": is_inside and len({s.node.path for s in calls.of("embedding")}) == 1,
        "width": view.width if is_scaled else None,
        "sines": is_inside and any(n.name == "sines and cosines" for n in calls.given.values()),
        "papers": "sections 3.1, 3.4 and 3.5" if is_inside else papers,
    }
    naming = Naming(("Y",), symbols, meanings=meanings)
    return replace(write(calls, view, naming), values=values, case="pair")


_NOTES = (
    "“{stack}” holds the stack of layers.",
    "All is computed by the child “{child}”, embeddings included.",
    "{alone?} It is the encoder of an encoder-decoder; this model has no decoder.",
    "{position_note}",
    "{rotated}",
    "{given}",
    "{bias}",
    "{mixing}",
    "The layers are pre-norm, so a final {final_norm} follows the last one.",
    "{two kinds?} Some layers attend to the whole sequence, the others to a window around each "
    "position; the configuration key layer_types lists which.",
    "{direction}",
    "“{unused}” is not part of a normal forward pass.",
    "{pooling}",
    "{no_pooler?} This model has no pooler: heads read the last hidden state directly.",
)
_PAIR_NOTES = (
    "{shares?} Encoder and decoder look up tokens in the same table, “shared”, {table}: it is "
    "listed wherever it is used but counted once.",
    "{data?} The decoder’s input starts with decoder_start_token_id, so that position s predicts "
    "token s of the target.",
    "{one table?} Source and target look up tokens in the same table.",
    "The token vectors are multiplied by √{width}, the square root of the embedding size, before "
    "the position encodings are added.",
    "{inside?} The target is masked: each of its positions attends only to itself and earlier "
    "ones.",
    "{sines?} Sinusoids need no parameters: they are computed for as many positions as the "
    "sequence has.",
    "{vectors?} torch.nn.Transformer has neither embeddings nor an output layer; its inputs are "
    "already vectors.",
    "{vectors?} PyTorch adds a final layer norm after each stack, which the paper does not have.",
    "{vectors?} Masks are passed by the caller: without a target mask, the decoder also attends to "
    "later positions.",
)
MODELS = Template(
    "{role}",
    _model,
    title="{title}",
    summary="{summary}",
    notes=_NOTES,
    keys=(
        *("vocabulary", "{is_stack?} positions", "width", "layers", "heads"),
        "{not is_stack?} feed-forward",
    ),
    source="{source}",
    cases={
        "pair": Template(
            "base model",
            summary="The encoder reads {read}{ids}; the decoder generates {made}, attending to the "
            "encoder’s output.",
            notes=_PAIR_NOTES,
            keys=("vocabulary", "width", "layers", "heads", "feed-forward"),
            source="Vaswani et al. 2017, {papers}",
        )
    },
)

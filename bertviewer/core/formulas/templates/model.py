"""Base models, encoders and decoders: embeddings, layers, and what follows them."""

from msgspec.structs import replace

from bertviewer.core.analysis.attention_modules import is_causal
from bertviewer.core.formulas.module_view import (
    IMAGE,
    IMAGE_OR_SOUND,
    ModuleView,
    has_windows,
    reads_first,
    rotates,
)
from bertviewer.core.formulas.norm import Norm, is_norm
from bertviewer.core.formulas.steps.graph_analysis import OperandKey
from bertviewer.core.formulas.steps.lines import write
from bertviewer.core.formulas.steps.loops import fold_loop, loop_iterations
from bertviewer.core.formulas.steps.naming import Naming
from bertviewer.core.formulas.template import Match, Template, first_true
from bertviewer.core.formulas.templates.embeddings import lookups_of
from bertviewer.core.formulas.templates.residual import residual_path
from bertviewer.core.formulas.templates.stack import (
    is_tower,
    layer_count,
    layer_runs,
    position_input,
    stacks_of,
    uncalled,
)
from bertviewer.core.graph.module_graph import ModuleGraph, Step, graph_of

_ABOUT = {
    "image": (
        "Image encoder",
        "Maps an image to one vector per patch, which depends on all others.",
    ),
    "grid": ("Image encoder", "Maps an image to feature maps: one vector per cell of a grid."),
    "image and text": (
        "Model of images and texts",
        "Maps an image and a text to vectors.",
    ),
    "sound": (
        "Audio encoder",
        "Maps sound to one vector per time step, which depends on the whole recording.",
    ),
    "decoder": (
        "Decoder-only model",
        "Maps a sequence of token ids to one vector per token, which depends on that token and the "
        "preceding ones.",
    ),
    "encoder": (
        "Encoder model",
        "Maps a sequence of token ids to one context-dependent vector per token.",
    ),
    "": ("Sequence model", "Maps a sequence of token ids to one vector per token."),
}
_ATTENDING = {"attention", "softmax"}
_MIXING_NOTES = {
    "fourier": "There is no attention: every layer mixes the positions by a Fourier transform, "
    "which has no parameters. Each output depends on all positions.",
    "recurrence": "There is no attention: every layer carries a state from position to position, "
    "so a position depends on itself and earlier ones, and the work grows linearly with the "
    "length.",
}
_POOLED = {
    "look-up": "The pooled output is the row of the end-of-text token, which sees the whole text.",
    "mean": "The pooled output is the mean over all positions.",
    "adaptive_avg_pool1d": "The pooled output is the mean over all positions.",
}


def _base_model_texts(view: ModuleView) -> tuple[str, str]:
    """Return title and summary of a model, by its inputs and by causality."""
    names = {node.name for node in view.calls.inputs}
    causal, mixing, kind = is_causal(view.architecture, view.node.path), _mixing_of(view), "encoder"
    if names & {*IMAGE_OR_SOUND}:
        kind = "image" if IMAGE in names else "sound"
        if IMAGE in names and "input_ids" in names:
            kind = "image and text"
        elif IMAGE in names and not {node.operation for node in view.all_nodes()} & _ATTENDING:
            kind = "grid"
    elif causal or (causal is None and mixing == "recurrence"):
        kind = "decoder"
    elif causal is None and not mixing:
        kind = ""
    return _ABOUT[kind]


def _reads_raw_input(calls: ModuleGraph) -> bool:
    """Return whether a module reads token ids, an image or sound instead of vectors."""
    return any(
        len(node.shape) != 3 or node.name in IMAGE_OR_SOUND
        for node in calls.inputs
        if "mask" not in node.name
    )


def _embeddings_of(view: ModuleView) -> ModuleView | None:
    """Return the child with the lookup of tokens."""
    names = [step.path for step in view.calls.steps if step.is_call]
    children = (view.at(path) for path in names if "embed" in path.rpartition(".")[2])
    return next((c for c in children if c is not None and lookups_of(c)), None)


def _mixing_of(view: ModuleView) -> str:
    """Return how a model mixes positions, "" if unknown."""
    operations = {node.operation or "" for node in view.all_nodes()}
    if operations & _ATTENDING:
        return "attention" if "attention" in operations else ""
    if any("fft" in operation for operation in operations):
        return "fourier"
    known = view.flows.distinct.values()
    return "recurrence" if any(loop_iterations(fold_loop(graph_of(flow))) for flow in known) else ""


def _rotation_note(view: ModuleView) -> str:
    """Return the text on positions that are only rotations, "" for other models."""
    kinds = lookups_of(_embeddings_of(view) or view)
    if "token" not in kinds or "position" in kinds or not rotates(view):
        return ""
    angles = next(
        (f", by the angles of “{name}”" for name in view.children if "rotary" in name), ""
    )
    return (
        "There are no position vectors: attention rotates queries and keys according to their "
        f"positions{angles}."
    )


def _distance_bias_note(view: ModuleView, run: Step) -> str:
    """Return the text on a table of distance biases (T5), "" without one."""
    start = run.path.rpartition(".")[0]
    layers = [layer for number in (0, 1) if (layer := view.at(f"{start}.{number}")) is not None]
    shapes = [[step.node.shape for step in each.graph.of("embedding")] for each in layers]
    have = [any(len(s) == 3 and s[0] == s[1] for s in each) for each in shapes]
    if have[:1] != [True]:
        return ""
    where = "every layer’s attention holds a table of distance biases, which it"
    if not all(have):
        where = "the first layer’s attention holds a table of distance biases, which every layer"
    return f"There are no position vectors: {where} adds to its scores."


def _direction_note(view: ModuleView) -> str:
    """Return the text on what positions attend to, "" if unknown or within windows."""
    hides = is_causal(view.architecture, view.node.path)
    if hides is None or not _sees_all(view):
        return ""
    near = "" if not has_windows(view) else ", in layers with a window only to the nearest"
    if hides:
        causal = "Attention is causal: each position attends only to itself and earlier positions"
        return f"{causal}{near and f'{near} of them'}."
    if view.config.get("attention_type") == "block_sparse":
        return "In a long sequence, each position attends only to some blocks before and after it."
    if near:
        return f"Every position attends in both directions{near} positions."
    return "Every position attends to the whole sequence, in both directions."


def _sees_all(view: ModuleView) -> bool:
    """Return whether attention spans all positions, unlike in windows (Swin)."""
    if IMAGE not in {node.name for node in view.graph.inputs}:
        return True
    lengths = [step.node.shape[-2] for step in view.graph.steps if len(step.node.shape) == 3]
    found = [node for node in view.all_nodes() if node.operation == "attention"]
    return all(max(lengths, default=0) in node.shape for node in found)


def _pooling_note(view: ModuleView, step: Step) -> str:
    """Return the text on the positions from which a pooled vector is computed."""
    child = view.at(step.path) if step.is_call else None
    if child is not None and not reads_first(child):
        return f"“{child.node.name}” computes one vector from those of all positions."
    first = "token ([CLS] in BERT)" if "vocab_size" in view.config else "position"
    return _POOLED.get(step.operation, f"The pooler reads only the first {first}.")


def _paper_of(view: ModuleView, norm: Norm | None, mixing: str, *, is_text: bool) -> str:
    """Return the paper of a model's structure."""
    is_rms = norm is not None and norm.name == "RMS norm"
    hides = is_causal(view.architecture, view.node.path)
    papers = {
        "Lee-Thorp et al. 2022; Devlin et al. 2019, section 3": mixing == "fourier",
        "transformers’ code, as traced": mixing == "recurrence",
        "Devlin et al. 2019, section 3": is_text,
        "Dosovitskiy et al. 2021, section 3.1": any(n.name == IMAGE for n in view.calls.inputs),
        "Lewis et al. 2020, section 2.1; Vaswani et al. 2017, section 3.1": is_tower(view)
        and "position" in lookups_of(view),
        "Touvron et al. 2023, section 2.2": is_rms and rotates(view),
        "Raffel et al. 2020, section 2.1": is_rms,
        "Radford et al. 2019, section 2.3": norm is not None and hides is True,
        "Vaswani et al. 2017, section 3.1": True,
    }
    return first_true(papers)


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
    calls, runs, stacks = view.calls, layer_runs(view), stacks_of(view)
    if not calls.results or not (runs or stacks) or view.node.name.isdecimal():
        return None
    if not runs and (pair := _pair(view, calls, stacks)) is not None:
        return pair
    run = runs[0] if len(runs) == 1 and not stacks else None
    stack = stacks[0] if len(stacks) == 1 and not runs else None
    if run is None and stack is None and not _reads_raw_input(calls):
        return None
    start = None if stack is None else calls.maker(next(iter(stack.tensors), None))
    ranks = [len(node.shape) for node, _ in calls.results[:2]]
    results = ("Y", "c") if ranks == [3, 2] else ("Y",) if ranks[0] == 3 else ()
    pooled = calls.maker(calls.results[1][1]) if len(results) > 1 else None
    is_base = stack is not None and len(calls.steps) > 1
    is_alone = not is_base and "shared" in view.children
    naming = Naming(
        results,
        symbols={(start.node.id, ()): "X_0"} if start is not None and len(start.ids) == 1 else {},
        meanings=_MEANINGS
        | ({"c": "pooled output: one vector for the whole sequence"} if results[1:] else {}),
        functions={stack.node.id: '"Encoder"'} if stack is not None and is_base else {},
    )
    role, title, summary = _role_texts(view, calls, run)
    mixing, last = _mixing_of(view), calls.maker(calls.results[0][1])
    holds_lookups = run is not None and _embeddings_of(view) is not None
    values = {
        "role": role,
        "is_stack": role == "stack",
        "title": title,
        "summary": summary,
        "position_note": lookups_of(view).get("position", (0, ""))[1],
        "rotated": _rotation_note(view),
        "given": "" if run is None else position_input(run, calls, view).note,
        "bias": run and _distance_bias_note(view, run),
        "mixing": _MIXING_NOTES.get(mixing),
        "pooling": pooled and _pooling_note(view, pooled),
        "source": _paper_of(
            view,
            Norm.of(last) if is_norm(last) else None,
            mixing,
            is_text="vocab_size" in view.config and run is None,
        ),
        "two kinds": len(set(view.config.get("layer_types") or ())) > 1,
        "direction": _direction_note(view) if run is not None or is_base else "",
        "final_norm": _final_norm(view, last, run),
        "no_pooler": len(results) == 1 and (is_base or holds_lookups),
        "stack": stack.node.name if stack is not None and is_base else "",
        "child": stack.node.name if stack is not None and not (is_base or is_alone) else "",
        "alone": stack is not None and is_alone,
        "unused": next((name for name in uncalled(view) if name.endswith("_head")), ""),
    }
    return replace(write(calls, view, naming), values=values)


def _role_texts(view: ModuleView, calls: ModuleGraph, run: Step | None) -> tuple[str, str, str]:
    """Return role, title and summary of a module that applies layers; ``run`` are its own."""
    kinds = lookups_of(view)
    if run is not None and not _reads_raw_input(calls):
        runs_all = f"Runs {layer_count(run)} layers in sequence, each with its own weights."
        return "stack", "Stack of layers", runs_all
    if run is None or "token" not in kinds or not is_tower(view):
        return ("base model", *_base_model_texts(view))
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
    """Return the name of the norm after pre-norm layers, "" for none."""
    layer = None if run is None else view.at(run.parts[-1].path)
    path = None if layer is None else residual_path(layer)
    if not is_norm(step) or path is None or path.branches[-1].before is None:
        return ""
    return "norm" if "norm" in step.node.name else f"norm ({step.node.name})"


def _pair(view: ModuleView, calls: ModuleGraph, stacks: tuple[Step, ...]) -> Match | None:
    """An encoder and a decoder (Vaswani et al. 2017, section 3.1), perhaps in one child."""
    first, child = stacks[0], view.at(stacks[0].path)
    is_inside = len(stacks) == 1 and len(calls.steps) > 1 and child is not None
    if not (is_inside and child is not None and len(stacks_of(child)) == 2) and (
        len(stacks) != 2 or first not in [calls.maker(operand) for operand in stacks[1].tensors]
    ):
        return None
    given = [calls.given[o.node].name for o in first.tensors if o.node in calls.given]
    is_text = is_inside or "input ids" in given
    is_data = is_inside or _reads_raw_input(calls)
    vectors = [node.id for node in calls.inputs if "mask" not in node.name]
    if is_data:
        vectors = [o.node for o in first.tensors] if is_inside else []
    symbols: dict[OperandKey, str] = {} if is_inside else {(first.node.id, ()): _ENCODER}
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
    "The child “{child}” computes everything, including the embeddings.",
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

"""Base models, encoders and decoders: embeddings, layers, and what follows them."""

from dataclasses import replace

from bertviewer.core.analysis.causality import is_causal
from bertviewer.core.formulas.facts import (
    has_two_kinds_of_layers,
    has_windows,
    hides_later,
    rotates,
    sees_later,
    shares_its_table,
)
from bertviewer.core.formulas.graph import ModuleGraph, Step, graph_of
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notes import Note
from bertviewer.core.formulas.steps.expressions import reads_first
from bertviewer.core.formulas.steps.formula import write
from bertviewer.core.formulas.steps.loops import folded
from bertviewer.core.formulas.steps.naming import Naming
from bertviewer.core.formulas.steps.origins import Place
from bertviewer.core.formulas.templates.embeddings import Lookup, lookups_of, position_note
from bertviewer.core.formulas.templates.layers import runs_of, stacks_of
from bertviewer.core.formulas.templates.norm import Norm, is_norm
from bertviewer.core.formulas.templates.residual import ResidualPath, residual_path
from bertviewer.core.formulas.templates.stack import extras_of, naming_of
from bertviewer.core.formulas.templates.template import Match, Template

_ENCODER = 'X_"enc"'
_VISION, _SOUND = "pixel values", ("input features", "input values")
_NO_VECTORS = "There are no position vectors: "

# What a module is, by its data and by what its positions see: title and summary.
_ABOUT = {
    "image": (
        "Image encoder",
        "Maps an image to one vector per patch, which depends on all others.",
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


def _about(view: ModuleView) -> str:
    """Return what a model is, a key of ``_ABOUT``."""
    names = _input_names(view)
    if _VISION in names:
        return "image"
    if names.intersection(_SOUND):
        return "sound"
    causal, mixing = is_causal(view.architecture, view.node.path), mixing_of(view)
    if causal or (causal is None and mixing == "recurrence"):
        return "decoder"
    return "" if causal is None and not mixing else "encoder"


def _input_names(view: ModuleView) -> set[str]:
    return {node.name for node in view.calls.inputs} if view.calls else set()


def mixing_of(view: ModuleView) -> str:
    """Return what moves information between positions in a model without attention."""
    flows = view.architecture.flows
    known = () if flows is None else tuple(flows.distinct.values())
    operations = {node.operation or "" for flow in known for node in flow.all_nodes()}
    if operations & {"attention", "softmax"}:
        return "attention" if "attention" in operations else ""
    if any("fft" in operation for operation in operations):
        return "fourier"
    return "recurrence" if any(folded(graph_of(flow)).rounds for flow in known) else ""


def _reads_data(calls: ModuleGraph) -> bool:
    """Return whether a module reads token ids, an image or sound, not vectors."""
    return any(
        len(node.shape) != 3 or node.name in (_VISION, "input features")
        for node in calls.inputs
        if "mask" not in node.name
    )


def is_tower(view: ModuleView) -> bool:
    """Return whether a module is one of several stacks of a model, or all that a wrapper holds."""
    around = None if view.node.parent is None else view.at(view.node.parent)
    if around is None:
        return False
    return around.calls is None or len(stacks_of(around)) > 1 or len(around.calls.steps) == 1


def _tower(view: ModuleView) -> Match | None:
    """An encoder or decoder with its embeddings, or layers after a short computation."""
    calls, runs = view.calls, runs_of(view)
    if calls is None or len(runs) != 1 or stacks_of(view) or not calls.results:
        return None
    if not _reads_data(calls):
        if view.node.name.isdecimal():
            return None
        count = runs[0].node.repeat.count if runs[0].node.repeat else 0
        summary = f"Runs {count} layers in sequence, each with its own weights."
        return _of_run(view, calls, runs[0], "Stack of layers", summary)
    lookups = lookups_of(view)
    if not is_tower(view) or "token" not in {each.kind for each in lookups}:
        return None
    reads_encoder = any("encoder" in node.name for node in calls.inputs)
    is_decoder = reads_encoder or is_causal(view.architecture, view.node.path)
    norms = [step for step in calls.steps if is_norm(step)]
    is_last = bool(norms) and calls.is_result(norms[-1])
    if len(lookups) == 1 and not calls.of("add", "residual"):
        end = " and normalises the result" if is_last else ""
        summary = f"Looks up token vectors, applies the layers in sequence{end}."
    else:
        added = "adds and normalises them" if len(norms) > is_last else "adds them"
        summary = (
            f"Looks up token and position vectors, {added}, and applies the layers in sequence."
        )
    title = f"{'Decoder' if is_decoder else 'Encoder'} with its embeddings"
    return _of_run(view, calls, runs[0], title, summary)


def _embeddings(view: ModuleView) -> ModuleView | None:
    """Return the child that looks tokens up for the first layer."""
    steps = () if view.calls is None else view.calls.steps
    names = [step.node.path or "" for step in steps if step.is_call]
    children = (view.at(path) for path in names if "embed" in path.rpartition(".")[2])
    return next((c for c in children if c is not None and lookups_of(c)), None)


def _of_run(view: ModuleView, calls: ModuleGraph, run: Step, title: str, summary: str) -> Match:
    """A module that applies its layers itself."""
    extras = extras_of(view, run)
    naming = _with_pooled(view, naming_of(run, extras))
    result = calls.maker(calls.results[0][1])
    norm = Norm.of(result) if is_norm(result) else None
    name = "" if result is None else result.node.name
    path = _residual_path(view, run)
    is_pre_norm = norm is not None and path is not None and path.branches[-1].before is not None
    values = {
        **_values(view),
        "title": title,
        "summary": summary,
        "source": _source(view, norm),
        "final_norm": ("norm" if "norm" in name else f"norm ({name})") if is_pre_norm else None,
        "bias": _bias_text(view, run),
        "direction": _direction(view),
        "no_pooler": len(naming.results) == 1 and _embeddings(view) is not None,
    }
    notes = tuple(note for each in extras for note in each.notes)
    return replace(write(calls, view, naming), values=values, notes=notes)


def _residual_path(view: ModuleView, run: Step) -> ResidualPath | None:
    layer = view.at(run.parts[-1].node.path or "")
    return None if layer is None else residual_path(layer)


def _with_pooled(view: ModuleView, naming: Naming) -> Naming:
    """Add the vector for the whole sequence that a model returns besides its hidden state."""
    calls = view.calls
    hidden = "last hidden state, one row per position"
    naming = replace(
        naming, meanings={"X_0": "input of the first layer", "Y": hidden, **naming.meanings}
    )
    if calls is None or not _pooled(calls):
        return naming
    meanings = {
        **naming.meanings,
        "p": "pooled output: one vector for the whole sequence",
        "y_0": f"row of Y of the first {_unit(view)}",
        "y_e": "row of Y of the end-of-text token",
    }
    step = calls.maker(calls.results[1][1])
    ends = step is not None and step.operation == "look-up"
    assumed = {step.node.id: "y_e"} if step is not None and ends else {}
    return replace(naming, results=("Y", "p"), meanings=meanings, assumed=assumed)


def _pooled(calls: ModuleGraph) -> bool:
    shapes = [node.shape for node, _ in calls.results[:2]]
    return [len(shape) for shape in shapes] == [3, 2]


def _unit(view: ModuleView) -> str:
    return "token" if "vocab_size" in view.config else "position"


def _pooling(view: ModuleView) -> str:
    """Return what the pooled output is, in words."""
    calls = view.calls
    if calls is None or not _pooled(calls):
        return ""
    step = calls.maker(calls.results[1][1])
    if step is not None and step.operation == "look-up":
        return "The pooled output is the row of the end-of-text token, which sees the whole text."
    if step is not None and step.operation in ("mean", "adaptive_avg_pool1d"):
        return "The pooled output is the mean over all positions."
    child = None if step is None or not step.is_call else view.at(step.node.path or "")
    if child is None or reads_first(child):
        if _unit(view) == "token":
            return "The pooler reads only the first token ([CLS] in BERT)."
        return "The pooler reads only the first position."
    return f"“{child.node.name}” computes one vector from those of all positions."


def _values(view: ModuleView) -> dict[str, object]:
    """Return what is said about all models."""
    lookups, inner = lookups_of(view), _embeddings(view)
    position = next((each for each in lookups if each.kind == "position"), None)
    below = lookups if inner is None else lookups_of(inner)
    names = (node.name for node in view.architecture.children(view.node.path))
    angles = next((f", by the angles of “{name}”" for name in names if "rotary" in name), "")
    return {
        "mixing": _MIXING.get(mixing_of(view)),
        "position_note": position and position_note(position),
        "rotated": _rotated(view, below, angles),
        "pooling": _pooling(view),
    }


def _rotated(view: ModuleView, lookups: tuple[Lookup, ...], angles: str) -> str:
    kinds = {each.kind for each in lookups}
    if "token" not in kinds or "position" in kinds or not rotates(view):
        return ""
    return f"{_NO_VECTORS}attention rotates queries and keys according to their positions{angles}."


_MIXING = {
    "fourier": "There is no attention: every layer mixes the positions by a Fourier transform, "
    "which has no parameters. Each output depends on all positions.",
    "recurrence": "There is no attention: every layer carries a state from position to position, "
    "so a position depends on itself and earlier ones, and the work grows linearly with the "
    "length.",
}


def _bias_text(view: ModuleView, run: Step) -> str:
    """Say where a table of distance biases is, as in T5, or that distances are given (XLNet)."""
    calls = view.calls
    given = {} if calls is None else calls.given
    names = {given[o.node].name for o in run.operands if o.node in given}
    if "sines and cosines" in names and not rotates(view):
        return (
            f"{_NO_VECTORS}every layer is given the sines and cosines of the distances between "
            "positions, with which its attention compares the tokens."
        )
    start = (run.node.path or "").rpartition(".")[0]
    first, later = (view.at(f"{start}.{number}") for number in (0, 1))
    if first is None or not _has_bias_table(first):
        return ""
    if later is not None and not _has_bias_table(later):
        return (
            f"{_NO_VECTORS}the first layer’s attention holds a table of distance biases, which "
            "every layer adds to its scores."
        )
    return (
        f"{_NO_VECTORS}every layer’s attention holds a table of distance biases, which it adds to "
        "its scores."
    )


def _has_bias_table(view: ModuleView) -> bool:
    """Return whether a layer looks up a bias for every pair of positions."""
    steps = () if view.graph is None else view.graph.of("embedding")
    shapes = (step.node.shape for step in steps)
    return any(len(shape) == 3 and shape[0] == shape[1] for shape in shapes)


def _direction(view: ModuleView) -> str:
    """Say what positions see, "" where attention is within windows or nothing is known."""
    if not _sees_all(view) or not (hides_later(view) or sees_later(view)):
        return ""
    if hides_later(view):
        causal = "Attention is causal: each position attends only to itself and earlier positions"
        near = ", in layers with a window only to the nearest of them"
        return f"{causal}{near if has_windows(view) else ''}."
    if has_windows(view):
        return (
            "Every position attends in both directions, in layers with a window only to the "
            "nearest positions."
        )
    return "Every position attends to the whole sequence, in both directions."


def _sees_all(view: ModuleView) -> bool:
    """Return whether attention spans all positions, not windows of an image (Swin)."""
    graph, flows = view.graph, view.architecture.flows
    if _VISION not in _input_names(view) or graph is None:
        return True
    lengths = [step.node.shape[-2] for step in graph.steps if len(step.node.shape) == 3]
    known = () if flows is None else flows.distinct.values()
    found = [n for flow in known for n in flow.all_nodes() if n.operation == "attention"]
    return all(max(lengths, default=0) in node.shape for node in found)


def _source(view: ModuleView, norm: Norm | None) -> str:
    """Return the paper that a model's structure is from."""
    mixing = mixing_of(view)
    if mixing == "fourier":
        return "Lee-Thorp et al. 2022; Devlin et al. 2019, section 3"
    if mixing == "recurrence":
        return "transformers’ code, as traced"
    if _VISION in _input_names(view):
        return "Dosovitskiy et al. 2021, section 3.1"
    if is_tower(view) and any(each.kind == "position" for each in lookups_of(view)):
        return "Lewis et al. 2020, section 2.1; Vaswani et al. 2017, section 3.1"
    if norm is not None and norm.name == "RMS norm":
        is_rotated = rotates(view)
        llama, t5 = "Touvron et al. 2023, section 2.2", "Raffel et al. 2020, section 2.1"
        return llama if is_rotated else t5
    if norm is not None and hides_later(view):
        return "Radford et al. 2019, section 2.3"
    return "Vaswani et al. 2017, section 3.1"


def _model(view: ModuleView) -> Match | None:
    """A model that applies its layers itself."""
    calls, runs = view.calls, runs_of(view)
    if calls is None or len(runs) != 1 or stacks_of(view) or not calls.results:
        return None
    if len(calls.results[0][0].shape) != 3 or view.node.name.isdecimal():
        return None
    return _of_run(view, calls, runs[0], *_ABOUT[_about(view)])


def _base(view: ModuleView) -> Match | None:
    """Embeddings, a child with the layers and, if there is one, a pooler (Devlin et al. 2019)."""
    calls, stacks = view.calls, stacks_of(view)
    if calls is None or runs_of(view) or len(stacks) != 1 or len(calls.steps) == 1:
        return None
    (stack,) = stacks
    result = calls.maker(calls.results[0][1]) if calls.results else None
    norm = Norm.of(result) if is_norm(result) else None
    if norm is not None and result is not None:
        result = calls.maker(result.tensors[0])
    if result is not stack or len(calls.results[0][0].shape) != 3 or _holds_pair(view):
        return None
    starts = [step for o in stack.tensors if (step := calls.maker(o)) is not None]
    start = next((step for step in starts if step.is_call), starts[0] if starts else None)
    symbols: dict[Place, str] = {}
    if start is not None and len(start.ids) == 1:
        symbols = {(start.node.id, ()): "X_0"}
    child = view.at(stack.node.path or "")
    functions = {stack.node.id: '"Encoder"'}
    naming = _with_pooled(view, Naming(("Y",), symbols, functions=functions, teaches=True))
    is_text = "vocab_size" in view.config and mixing_of(view) != "fourier"
    title, summary = _ABOUT[_about(view)]
    values = {
        **_values(view),
        "title": title,
        "summary": summary,
        "stack": child and child.node.name,
        "seen": _seen(view),
        "uncalled": _uncalled(view),
        "no_pooler": len(naming.results) == 1,
        "source": "Devlin et al. 2019, section 3" if is_text else _source(view, norm),
    }
    return replace(write(calls, view, naming), values=values)


def _seen(view: ModuleView) -> str:
    """Return what a position of the sequence sees, in words, and the end of the sentence."""
    causal = is_causal(view.architecture, view.node.path) if _sees_all(view) else None
    if causal is None:
        return "."
    if causal:
        return ". It is a decoder: each position attends only to itself and earlier positions."
    if view.config.get("attention_type") == "block_sparse":
        return (
            "; in a long sequence, each position attends only to some blocks before and after it."
        )
    return "; every position attends to the whole sequence, in both directions."


def _uncalled(view: ModuleView) -> str:
    """Name a head inside of a base model that is not called in a forward pass (ESM)."""
    flows = view.architecture.flows
    called = set() if flows is None else {*flows.distinct, *flows.like}
    return next(
        (
            name
            for name, node in view.children.items()
            if name.endswith("_head") and node.parameters and node.path not in called
        ),
        "",
    )


def _wrapper(view: ModuleView) -> Match | None:
    """A module that only calls its encoder or decoder."""
    calls, stacks = view.calls, stacks_of(view)
    if calls is None or len(stacks) != 1 or len(calls.steps) != 1:
        return None
    title, summary = _ABOUT[_about(view)]
    name = stacks[0].node.name
    is_encoder = name == "encoder"
    values = {
        "title": title,
        "summary": summary,
        "child": None if is_encoder and "shared" in view.children else name,
        "alone": is_encoder and "shared" in view.children,
        "source": "Raffel et al. 2020, section 2.1"
        if is_encoder
        else "Vaswani et al. 2017, section 3.1",
    }
    meanings = {"Y": "last hidden state"}
    written = write(calls, view, Naming(("Y",), meanings=meanings, teaches=True))
    return replace(written, values=values)


def _pair(view: ModuleView) -> Match | None:
    """An encoder and a decoder that attends to its output (Vaswani et al. 2017, section 3.1)."""
    calls, stacks = view.calls, stacks_of(view)
    if calls is None or runs_of(view) or len(stacks) != 2:
        return None
    first, second = stacks
    if first not in [calls.maker(operand) for operand in second.tensors]:
        return None
    reads_text = any(
        calls.given[o.node].name == "input ids" for o in first.tensors if o.node in calls.given
    )
    is_data = _reads_data(calls)
    tables = (t for t in view.architecture.parameters if t.name.endswith("shared.weight"))
    vectors = [node for node in calls.inputs if "mask" not in node.name] if not is_data else []
    symbols: dict[Place, str] = {(first.node.id, ()): _ENCODER}
    symbols |= {(n.id, ()): s for n, s in zip(vectors, ('X_"src"', 'X_"tgt"'), strict=False)}
    meanings = {
        _ENCODER: "the encoder’s output",
        "Y": "the decoder’s last hidden state, one row per target position",
        'X_"src"': "embedded source sequence",
        'X_"tgt"': "embedded target sequence so far",
    }
    meanings |= {"t": "token ids of the source"} if reads_text else {}
    source = "one sequence" if not is_data else "one sequence of token ids"
    source = source if reads_text or not is_data else "a recording"
    target = "another" if reads_text or not is_data else "a sequence of token ids"
    values = {
        "title": "Encoder-decoder with embeddings" if is_data else "Encoder-decoder",
        "source_text": source,
        "target_text": target,
        "table": next((str(list(table.shape)) for table in tables), None),
        "data": is_data,
        "source": "Vaswani et al. 2017, section 3.1; "
        + ("Lewis et al. 2020; Raffel et al. 2020" if is_data else "torch.nn.Transformer"),
    }
    naming = Naming(("Y",), symbols, meanings=meanings, teaches=True)
    return replace(write(calls, view, naming), values=values)


def _by_steps(view: ModuleView) -> Match | None:
    """A model whose parts are put together in an unusual way."""
    calls = view.calls
    if calls is None or not (runs_of(view) or stacks_of(view)) or not calls.results:
        return None
    if not _input_names(view) & {"input ids", _VISION, *_SOUND}:
        return None
    title, summary = _ABOUT[_about(view)]
    values = {
        **_values(view),
        "title": title,
        "summary": summary,
        "direction": _direction(view),
        "source": "transformers’ code, as traced",
    }
    return replace(write(calls, view, Naming(teaches=True)), values=values)


def _pair_in_child(view: ModuleView) -> Match | None:
    """Embeddings for an encoder-decoder in a child (Vaswani et al. 2017)."""
    calls = view.calls
    if calls is None or len(calls.steps) == 1 or not _holds_pair(view):
        return None
    (stack,) = stacks_of(view)
    symbols: dict[Place, str] = {}
    for operand, symbol in zip(stack.tensors, ('X_"src"', 'X_"tgt"'), strict=False):
        symbols[operand.node, ()] = symbol
    meanings = {
        'X_"src"': "vectors of the source",
        'X_"tgt"': "vectors of the target",
        "Y": "the decoder’s last hidden state, one row per target position",
    }
    scaled = [step for step in calls.of("mul") if any(o.plain for o in step.operands)]
    values = {
        "width": view.width if scaled else None,
        "sines": any(node.name == "sines and cosines" for node in calls.given.values()),
    }
    written = write(calls, view, Naming(("Y",), symbols, meanings=meanings, teaches=True))
    return replace(written, values=values)


def _holds_pair(view: ModuleView) -> bool:
    children = [view.at(step.node.path or "") for step in stacks_of(view)]
    return any(child is not None and len(stacks_of(child)) == 2 for child in children)


_KEYS = ("vocabulary", "positions", "width", "layers", "heads")
_ALL_KEYS = ("vocabulary", "width", "layers", "heads", "feed-forward")
_NO_POOLER = Note(
    "This model has no pooler: heads read the last hidden state directly.", "no_pooler"
)
_NOTES = (
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
    "{pooling}",
    _NO_POOLER,
)
MODELS = (
    Template("stack", _tower, "{title}", "{summary}", _NOTES, _KEYS, "{source}"),
    Template(
        "base model",
        _pair,
        title="{title}",
        summary="The encoder reads {source_text}; the decoder generates {target_text}, attending "
        "to the encoder’s output.",
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
        source="{source}",
    ),
    Template(
        "base model",
        _wrapper,
        title="{title}",
        summary="{summary}",
        notes=(
            "All is computed by the child “{child}”, embeddings included.",
            Note(
                "It is the encoder of an encoder-decoder; this model has no decoder.",
                "alone",
            ),
        ),
        keys=_ALL_KEYS,
        source="{source}",
    ),
    Template(
        "base model",
        _base,
        title="{title}",
        summary="{summary}",
        notes=(
            "“{stack}” holds the stack of layers{seen}",
            "{mixing}",
            "{position_note}",
            "{rotated}",
            "“{uncalled}” is not part of a normal forward pass.",
            "{pooling}",
            _NO_POOLER,
        ),
        keys=_ALL_KEYS,
        source="{source}",
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
    Template("base model", _model, "{title}", "{summary}", _NOTES, _KEYS, "{source}"),
    Template("base model", _by_steps, "{title}", "{summary}", _NOTES, _KEYS, "{source}"),
)

"""Linear layers, and their purposes in the graphs of enclosing modules."""

from collections.abc import Callable, Sequence

from bertviewer.core.expressions.symbols import shape_text
from bertviewer.core.formulas.formula import GROUP, Affine, Term, indices, sized
from bertviewer.core.formulas.module_view import ModuleView, Place, places, scored_labels
from bertviewer.core.formulas.norm import NORMS, is_norm
from bertviewer.core.formulas.steps.graph_analysis import (
    GATED_NETWORK,
    NETWORKS,
    ROLES,
    activation_of,
    compressed_for,
    projections,
)
from bertviewer.core.formulas.template import Match, Template
from bertviewer.core.formulas.templates.heads import sole_heads, sparse_heads
from bertviewer.core.formulas.templates.position_biases import bias_of
from bertviewer.core.graph.module_graph import ModuleGraph, Step, is_first
from bertviewer.core.schema.modules import ancestors
from bertviewer.core.util.text import joined

_NAMES = {"Q": "queries", "K": "keys", "V": "values"}
_PROJECTIONS = {
    "Q": "Computes the queries: what each position looks for.",
    "K": "Computes the keys: what each position is matched by.",
    "V": "Computes the values: what each position passes on to those that attend to it.",
    "QKV": "Computes queries, keys and values in one product, side by side.",
    "KV": "Computes keys and values in one product, side by side.",
    "QK": "Computes queries and keys in one product, side by side.",
}
_OUTPUT = "Mixes the heads’ outputs into one vector per position."
_AFTER_SCORES = ("add", "mul", "div", "sub", "activation", "look-up")


def _layer(view: ModuleView) -> Affine | None:
    """Return the linear layer of a module: torch.nn.Linear, Conv1D or a pointwise convolution."""
    layer = None if set(view.tensors) - {"weight", "bias"} else view.affine()
    if view.is_called:
        return layer if view.only("linear") else None
    # A layer that is not called is one, unless other code reads its weight.
    weight = f"{view.node.path}.weight"
    around = [each.graph for path in ancestors(view.node.path) if (each := view.at(path))]
    read = {name for graph in around for step in graph.steps for name in step.node.reads}
    is_linear = view.node.class_module == "torch.nn.modules.linear"
    return layer if is_linear and (weight not in read or _torch_attention(view)) else None


def _torch_attention(view: ModuleView) -> bool:
    """Return whether a layer is part of torch's attention, which does not call it."""
    around = view.at(view.node.parent or "")
    return around is not None and around.is_torch and around.node.class_name == "MultiheadAttention"


def _linear(view: ModuleView) -> Match | None:
    layer = _layer(view)
    if layer is None:
        return None
    x = Term("x", "input vector of one position", shape_text((layer.inputs,)))
    domain = f"{' + b_j' if layer.bias else ''}, quad j = {indices(layer.outputs)}"
    if layer.convolution:
        return _pointwise(view, layer, x, domain)
    entry = "w_(j, i)" if layer.transposed else "w_(i, j)"
    return Match(
        maths=(
            f"{sized('y', layer.outputs)} = {layer.maths(sized('x', layer.inputs))}",
            f"y_j = sum_(i=0)^({layer.inputs - 1}) x_i {entry}{domain}",
        ),
        terms=(
            x,
            *layer.terms("this layer"),
            Term("y", "output vector of that position", shape_text((layer.outputs,))),
        ),
        values={
            "stored": "" if layer.transposed else ", stored transposed (Conv1D)",
            "purpose": _purpose(view, layer),
            "transposed": layer.transposed,
            "bias": layer.bias,
            "per position": _is_per_position(view),
            "source": "torch.nn.Linear"
            if layer.transposed
            else "Conv1D of transformers, after the code of Radford et al. 2018",
        },
    )


def _pointwise(view: ModuleView, layer: Affine, x: Term, domain: str) -> Match:
    """Return a pointwise convolution, perhaps in groups (Iandola et al. 2020, 3)."""
    shape, groups = view.shape("weight") or (), view.integer("groups") or 1
    each, is_grouped = layer.inputs // groups, groups > 1
    read = f"x_({each} {GROUP}(j) + i)" if is_grouped else "x_i"
    stored = f"weight, stored [out, in per group{', 1' * len(shape[2:])}]"
    bias = Term("b_j", "bias of feature j", shape_text((layer.outputs,)))
    group = Term(GROUP, "group of an output feature", f"{groups} groups")
    return Match(
        maths=(
            f"y_j = sum_(i=0)^({each - 1}) {read} w_(j, i){domain}",
            *((f"{GROUP}(j) = floor(j \\/ {layer.outputs // groups})",) if is_grouped else ()),
        ),
        terms=(
            x,
            Term("w_(j, i)", stored, shape_text(shape)),
            *((bias,) if layer.bias else ()),
            *((group,) if is_grouped else ()),
        ),
        values={
            "kind": "Grouped convolution" if is_grouped else "Convolution",
            "purpose": _purpose(view, layer),
            "groups": groups if is_grouped else None,
            "bias": layer.bias,
        },
        case="convolution",
    )


def _is_per_position(view: ModuleView) -> bool:
    """Return whether a layer reads one vector for each position."""
    if not view.graph.inputs:
        return _torch_attention(view)
    # DeBERTa may also project distances with these layers.
    around = next(places(view), None)
    is_shared = view.config.get("share_att_key") is True
    if around is not None and is_shared and around.graph.of("position bias"):
        return False
    calls = () if around is None else around.steps
    shapes = (view.graph.inputs[0].shape, *(step.node.shape for step in calls))
    return not any(view.lengths.isdisjoint(shape[:-1]) for shape in shapes)


def _purpose(view: ModuleView, layer: Affine) -> str:
    """Return the purpose of a layer in the innermost module that shows it."""
    around = view.at(view.node.parent or "")
    name, _, globally = view.node.name.partition("_")
    if around is not None and name in ROLES and sparse_heads(around) is not None:
        text = _PROJECTIONS[ROLES[name]]
        return text.replace(":", " of the global positions:", 1) if globally else text
    if _torch_attention(view):
        return _OUTPUT
    for place in places(view):
        if text := _in_group(place, place.group) if place.group else _in_graph(view, layer, place):
            return text
    if around is not None and around.graph.steps:
        # BigBird's attention is a closed module.
        outside, first = next(places(around), None), around.graph.steps[0]
        if first.node.path == view.node.path and outside and _mixes_heads(view, outside):
            return _OUTPUT
    heads = None if around is None else sole_heads(around)
    bias = None if heads is None else bias_of(heads)
    if bias is not None and view.node.path in bias.purposes:
        return bias.purposes[view.node.path]
    if layer.outputs == 1:
        return "Computes one number from each vector, a weighted sum."
    is_wider, is_same = layer.outputs > layer.inputs, layer.outputs == layer.inputs
    size = "new" if is_same else "larger" if is_wider else "smaller"
    return f"Maps each vector to a {size} one, whose entries are weighted sums."


def _in_group(place: Place, group: Step) -> str:
    """Return the purpose of a layer in a feed-forward network, "" in other groups."""
    own, inner = place.steps[0].node.id, group.inner
    if group.operation not in NETWORKS:
        return ""
    if inner[-1].node.id == own:
        return "Projects the feed-forward network’s output back to the hidden size."
    if group.operation != GATED_NETWORK:
        return "Expands each position’s vector for the feed-forward network."
    if [each.operation for each in inner].count("linear") == 2:
        return "Expands each position’s vector to two halves, one of which gates the other."
    act = activation_of(inner)
    if act is not None and act.tensors[0].node == own:
        return "Determines, after its activation, how much of each feature passes the gate."
    return "Expands each position’s vector; its output is multiplied by the gate."


def _in_graph(view: ModuleView, layer: Affine, place: Place) -> str:
    """Return the purpose of a layer in an attention, or in embeddings or heads."""
    graph, step = place.graph, place.steps[0]

    def is_table(made: Step) -> bool:
        module = view.at(made.path) if made.node.kind == "module" else None
        return made.operation == "embedding" or bool(module and module.graph.of("embedding"))

    compressed = [name for letter, name in _NAMES.items() if letter in compressed_for(graph, step)]
    if compressed and layer.outputs < layer.inputs:
        listed = joined(compressed)
        return f"Reduces the input to smaller vectors, from which {listed} are computed."
    letters = "".join(sorted(projections(graph).get(step.node.id, ()), key="QKV".index))
    if letters in _PROJECTIONS:
        return _PROJECTIONS[letters]
    if _mixes_heads(view, place):
        return _OUTPUT
    if text := _changes_width(layer, place):
        return text
    if any(part.isdigit() for part in view.node.path.split(".")):
        return ""
    if _reads(graph, step, is_table, through=("add", "cat", *NORMS)):
        return "Projects the embeddings to the hidden size."
    after = _sole_user(graph, step)
    if after is not None and after.operation == "activation":
        if graph.is_result(after) and is_first(step.tensors[0].parts):
            return "Maps the first token’s vector; the pooler’s activation follows."
        if is_norm(_sole_user(graph, after)):
            return "Transforms each position’s vector for the prediction of its token."
    return _scores(view, step) if _reaches_result(graph, step) else ""


def _mixes_heads(view: ModuleView, place: Place) -> bool:
    def is_attention(made: Step) -> bool:
        module = view.at(made.path)
        is_sparse = module is not None and sparse_heads(module) is not None
        return made.operation == "attention" or is_sparse

    return _reads(place.graph, place.steps[0], is_attention, through=("add", "cat"))


def _changes_width(layer: Affine, place: Place) -> str:
    """Return the purpose of a projection around smaller vectors (MobileBERT)."""
    graph, step = place.graph, place.steps[0]
    users = graph.users(step)
    skips = {user.roles["residual"].node for user in users if "residual" in user.roles}
    if not place.view.node.name.isdigit():
        return ""
    if layer.outputs > layer.inputs and not skips.isdisjoint(graph.given):
        return "Projects the layer’s output back to the hidden size of the model."
    reads_given = all(operand.node in graph.given for operand in step.tensors)
    if layer.outputs < layer.inputs and reads_given and any(map(is_norm, users)):
        return "Reduces the layer’s input to the layer’s internal hidden size."
    return ""


def _reads(
    graph: ModuleGraph, step: Step, wanted: Callable[[Step], bool], through: Sequence[str]
) -> bool:
    """Return whether a step reads a wanted one, directly or through some operations."""
    return any(
        wanted(made) or (made.operation in through and _reads(graph, made, wanted, through))
        for made in _makers(graph, step)
    )


def _makers(graph: ModuleGraph, step: Step) -> list[Step]:
    return [made for operand in step.tensors if (made := graph.maker(operand)) is not None]


def _sole_user(graph: ModuleGraph, step: Step) -> Step | None:
    users = graph.users(step)
    return users[0] if len(users) == 1 else None


def _reaches_result(graph: ModuleGraph, step: Step) -> bool:
    """Return whether only a bias, a factor or a selection of rows follows."""
    if graph.is_result(step):
        return True
    user = _sole_user(graph, step)
    if user is None or user.operation not in _AFTER_SCORES:
        return False
    return len(_makers(graph, user)) < 2 and _reaches_result(graph, user)


def _scores(view: ModuleView, step: Step) -> str:
    """Return the purpose of a layer of scores, by their number and the model's outputs."""
    count, root = step.node.details.get("out_features"), view.at("")
    results = () if root is None else root.graph.results
    shapes = {node.name: node.shape for node, _ in results}
    if count == view.config.get("vocab_size"):
        return "Computes one score (logit) per vocabulary entry."
    if count == 2 and "start logits" in shapes:
        return "Computes two scores per token: the answer starts here, the answer ends here."
    is_pair = shapes.get("seq relationship logits") or (
        view.architecture.source.task == "next-sentence"
    )
    if count == 2 and len(step.node.shape) == 2 and is_pair:
        return "Computes two scores: sentence B follows sentence A, or it does not."
    is_of_classes = "logits" in " ".join(shapes) and count == scored_labels(view)
    return "Computes one score (logit) per class." if is_of_classes else ""


LINEAR = Template(
    "linear",
    _linear,
    title="Linear layer{stored}",
    summary="{purpose}",
    notes=(
        "{transposed?} PyTorch stores the weight as [out, in], so the formula transposes it: row j "
        "of W produces output feature j.",
        "{not transposed?} Conv1D stores the weight as [in, out], unlike torch.nn.Linear, so "
        "nothing is transposed: column j of W produces output feature j.",
        "{per position?} x is the vector of one position; the same weights are applied to every "
        "position.",
        "{not bias?} This layer has no bias.",
    ),
    source="{source}",
    cases={
        "convolution": Template(
            title="{kind} with kernel size 1",
            notes=(
                "{not groups?} It is equivalent to a linear layer.",
                "It is equivalent to a linear layer with a block-diagonal matrix of {groups} "
                "blocks: {groups} times fewer weights and products.",
                "{not bias?} This layer has no bias.",
            ),
            keys=("groups of features",),
            source="Iandola et al. 2020, section 3",
        ),
    },
)

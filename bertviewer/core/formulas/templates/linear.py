"""Linear layers, and what each is for, as the graphs of the modules around it show."""

from bertviewer.core.expressions.shape_text import shape_text
from bertviewer.core.formulas.formula import Formula, Term
from bertviewer.core.formulas.graph import ModuleGraph, Step
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import Affine, indices, sized
from bertviewer.core.formulas.place import Place, places
from bertviewer.core.formulas.steps.origins import ROLES, compressed_for, projections
from bertviewer.core.formulas.templates.end_purpose import end_purpose
from bertviewer.core.formulas.templates.heads import heads_of, own_attentions, sparse_heads
from bertviewer.core.formulas.templates.norm import is_norm
from bertviewer.core.formulas.templates.position_scores import products_of
from bertviewer.core.formulas.templates.template import Template
from bertviewer.core.text.numerals import count_text

_DEFAULT = "Maps each vector to a new one, made of weighted sums."
_PROJECTIONS = {
    "Q": "Computes the queries: what each position looks for.",
    "K": "Computes the keys: what each position is matched by.",
    "V": "Computes the values: what each position passes on to those that attend to it.",
    "QKV": "Computes queries, keys and values in one product, side by side.",
    "KV": "Computes keys and values in one product, side by side.",
    "QK": "Computes queries and keys in one product, side by side.",
}
_OUTPUT = "Mixes the heads’ outputs into one vector per position."
_EXPANDS = "Expands each position’s vector for the feed-forward network."
_GATES = "Determines, after its activation, how much of each feature passes the gate."
_GATED = "Expands each position’s vector; its output is multiplied by the gate."
_HALVES = "Expands each position’s vector to two halves, one of which gates the other."
_NARROWS = "Projects the feed-forward network’s output back to the hidden size."
_WIDENS = "Projects the embeddings to the hidden size."
_REDUCES = "Reduces the layer’s input to the layer’s internal hidden size."
_BACK = "Projects the layer’s output back to the hidden size of the model."
_NAMES = {"Q": "queries", "K": "keys", "V": "values"}
_DISTANCE_KEYS = "Computes the keys of relative distances: what each distance is matched by."
_DISTANCE_QUERIES = "Computes the queries of relative distances: what each distance looks for."


def _linear(view: ModuleView) -> Formula | None:
    """A linear layer: torch.nn.Linear, or Conv1D, which stores its weight transposed."""
    graph, layer = view.graph, view.affine()
    if layer is None or set(view.tensors) - {"weight", "bias"}:
        return None
    if graph is None:
        is_torch = view.node.class_module == "torch.nn.modules.linear"
        if not is_torch or not (_is_used(view) or _is_in_torch_attention(view)):
            return None
    elif graph.only is None or graph.only.operation != "linear":
        return None
    if layer.convolution:
        return _pointwise(view, layer)
    entry = "W_(j, i)" if layer.transposed else "W_(i, j)"
    bias = " + b_j" if layer.bias else ""
    order = (
        "PyTorch stores the weight as [out, in], so the formula transposes it: row j of W "
        "produces output feature j."
        if layer.transposed
        else "Conv1D stores the weight as [in, out], unlike torch.nn.Linear, so nothing is "
        "transposed: column j of W produces output feature j."
    )
    notes = [order]
    if _is_per_position(view):
        notes.append(
            "x is the vector of one position: the same weights are applied to every position "
            "independently."
        )
    if not layer.bias:
        notes.append("This layer has no bias.")
    return Formula(
        title="Linear layer" if layer.transposed else "Linear layer, stored transposed (Conv1D)",
        summary=_purpose(view),
        maths=(
            f"{sized('y', layer.outputs)} = {layer.maths(sized('x', layer.inputs))}",
            f"y_j = sum_(i=0)^({layer.inputs - 1}) x_i {entry}{bias}, "
            f"quad j = {indices(layer.outputs)}",
        ),
        terms=(
            Term("x", "input vector of one position", shape_text((layer.inputs,))),
            *layer.terms("this layer"),
            Term("y", "output vector of that position", shape_text((layer.outputs,))),
        ),
        notes=tuple(notes),
        source="torch.nn.Linear"
        if layer.transposed
        else "Conv1D of transformers, after the code of Radford et al. 2018",
    )


def _pointwise(view: ModuleView, layer: Affine) -> Formula:
    """A convolution of one position, in groups (Iandola et al. 2020, section 3)."""
    groups = view.integer("groups") or 1
    each, made = layer.inputs // groups, layer.outputs // groups
    bias = " + b_j" if layer.bias else ""
    biases = (Term("b_j", "bias of feature j", shape_text((layer.outputs,))),) if bias else ()
    kind = "Grouped convolution" if groups > 1 else "Convolution"
    blocks = (
        f" with a block-diagonal matrix of {groups} blocks: {groups} times fewer weights and "
        "products."
    )
    product = f"x_({each} g(j) + i)" if groups > 1 else "x_i"
    line = (
        f"y_j = sum_(i=0)^({each - 1}) {product} W_(j, i){bias}, quad j = {indices(layer.outputs)}"
    )
    group = Term("g(j)", "group of output feature j", count_text(groups, "1", "{0} groups"))
    return Formula(
        title=f"{kind} with kernel size 1",
        summary=_purpose(view),
        maths=(line, f"g(j) = floor(j \\/ {made})") if groups > 1 else (line,),
        terms=(
            Term("x", "input vector of one position", shape_text((layer.inputs,))),
            Term(
                "W", "weight, stored [out, in per group, 1]", shape_text(view.shape("weight") or ())
            ),
            *biases,
            *((group,) if groups > 1 else ()),
        ),
        notes=(f"It is equivalent to a linear layer{blocks if groups > 1 else '.'}",),
        config_keys=view.keys("groups of features"),
        source="Iandola et al. 2020, section 3",
    )


def _is_used(view: ModuleView) -> bool:
    """Return whether a layer that is not called can be: no other module multiplies its weight."""
    flows = view.architecture.flows
    weight = view.tensors["weight"].name
    read = () if flows is None else flows.distinct.values()
    return not any(weight in node.reads for flow in read for node in flow.nodes)


def _is_in_torch_attention(view: ModuleView) -> bool:
    """Return whether torch's attention multiplies by a layer's weight without calling it."""
    around = view.at(view.node.parent or "")
    if around is None or around.node.class_name != "MultiheadAttention":
        return False
    return around.node.class_module.startswith("torch.nn.modules.")


def _is_per_position(view: ModuleView) -> bool:
    """Return whether a layer receives one vector for each position of a sequence."""
    if _is_in_torch_attention(view):
        return True
    graph = view.graph
    if graph is None or not graph.inputs:
        return False
    flows = view.architecture.flows
    lengths = {} if flows is None else flows.lengths
    shape = graph.inputs[0].shape
    if any(_projects_distances(place) for place in places(view)):
        return False
    return len(shape) > 1 and any(lengths.get(name) in shape[:-1] for name in ("S", "S_d"))


def _projects_distances(place: Place) -> bool:
    """Return whether a layer projects distances as well as tokens (DeBERTa).

    The code also calls it where it does not use the result.
    """
    letters = projections(place.graph).get(place.steps[0].node.id, frozenset())
    is_shared = place.view.config.get("share_att_key") is True
    return is_shared and bool(letters & {"Q", "K"}) and bool(place.graph.of("position bias"))


def _purpose(view: ModuleView) -> str:
    """Return what a layer is for: the first place in which its use is clear."""
    if _is_in_torch_attention(view):
        return _OUTPUT
    if text := _purpose_in_sparse_attention(view):
        return text
    for place in places(view):
        is_in_group = place.group is not None
        text = _purpose_in_group(place) if is_in_group else _purpose_among(view, place)
        if text:
            return text
    return _DEFAULT


def _purpose_in_sparse_attention(view: ModuleView) -> str:
    """Return what a layer of a sparse attention computes, "" for other layers."""
    around = view.at(view.node.parent or "")
    heads = None if around is None else sparse_heads(around)
    name, _, globally = view.node.name.partition("_")
    if heads is None or name not in heads.parts:
        return ""
    text = _PROJECTIONS[ROLES[name]]
    return text.replace(":", " of the global positions:", 1) if globally == "global" else text


def _purpose_in_group(place: Place) -> str:
    """Return what a layer does in a feed-forward network, or among the scores of an attention."""
    assert place.group is not None
    inner, own = place.group.inner, place.steps[0].node.id
    if place.group.operation == "attention":
        words = [each.operation for each in inner]
        softmax = words.index("softmax") if "softmax" in words else 0
        is_before = inner.index(place.steps[0]) < softmax
        return f"Mixes the {'scores' if is_before else 'probabilities'} of all heads."
    if "feed-forward" not in place.group.operation:
        return ""
    if inner[-1].node.id == own:
        return _NARROWS
    if place.group.operation == "feed-forward":
        return _EXPANDS
    linears = [step for step in inner if step.operation == "linear"]
    if len(linears) == 2:
        return _HALVES
    is_gate = any(
        step.operation == "activation" and own in {o.node for o in step.tensors} for step in inner
    )
    return _GATES if is_gate else _GATED


def _purpose_among(view: ModuleView, place: Place) -> str:
    """Return what a layer does among the steps of an enclosing module."""
    graph, step = place.graph, place.steps[0]
    layer = view.affine()
    compressed = compressed_for(graph, step)
    if compressed and layer is not None and layer.outputs < layer.inputs:
        names = [name for letter, name in _NAMES.items() if letter in compressed]
        listed = f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]
        return f"Reduces the input to smaller vectors, from which {listed} are computed."
    letters = projections(graph).get(step.node.id)
    if letters:
        return _PROJECTIONS.get("".join(sorted(letters, key="QKV".index)), "")
    if purpose := _purpose_for_distances(place.view, step):
        return purpose
    made_by = graph.maker(next(iter(step.tensors), None))
    if made_by is not None and (
        made_by.operation == "attention" or _adds_attention(graph, made_by)
    ):
        return _OUTPUT
    made_in = None if made_by is None else view.at(made_by.node.path or "")
    if _follows_attention(view) or (made_in is not None and sparse_heads(made_in) is not None):
        return _OUTPUT
    if made_by is not None and _looks_up(view, made_by):
        return _WIDENS
    if layer is not None and (text := _purpose_at_bottleneck(graph, step, layer)):
        return text
    return end_purpose(view, place)


def _looks_up(view: ModuleView, step: Step) -> bool:
    """Return whether a step is a table, or a module of tables that embeds the tokens."""
    if step.operation == "embedding":
        return True
    module = view.at(step.node.path or "") if step.node.kind == "module" else None
    return module is not None and module.graph is not None and bool(module.graph.of("embedding"))


def _purpose_at_bottleneck(graph: ModuleGraph, step: Step, layer: Affine) -> str:
    """Return what a layer does around a layer of smaller vectors (MobileBERT)."""
    made_by = graph.maker(next(iter(step.tensors), None))
    users = graph.users(step)
    if is_norm(made_by) and layer.outputs > layer.inputs:
        skips = [user.roles.get("residual") for user in users if user.operation == "residual"]
        return _BACK if any(skip and skip.node in graph.given for skip in skips) else ""
    normed = [after for user in users if is_norm(user) for after in graph.users(user)]
    is_first = made_by is None and layer.outputs < layer.inputs
    return _REDUCES if is_first and any(each.operation == "add" for each in normed) else ""


def _adds_attention(graph: ModuleGraph, step: Step) -> bool:
    """Return whether a step adds something to the outputs of heads, or puts it next to them."""
    makers = [graph.maker(o) for o in step.tensors]
    is_sum = step.operation in ("add", "cat")
    return is_sum and any(each is not None and each.operation == "attention" for each in makers)


def _follows_attention(view: ModuleView) -> bool:
    """Return whether a layer is in a module that reads what an attention module computes."""
    holder = view.node.parent or ""
    around = view.at(holder.rpartition(".")[0])
    graph = None if around is None or not holder else around.graph
    own = [] if graph is None else [step for step in graph.steps if step.node.path == holder]
    inner = view.at(holder)
    is_first = (
        inner is not None
        and inner.graph is not None
        and (inner.graph.steps[0].node.path == view.node.path)
    )
    if graph is None or not own or not is_first:
        return False
    makers = [graph.maker(o) for o in own[0].tensors[:1]]
    views = [view.at(each.node.path or "") for each in makers if each is not None]
    return any(v is not None and (own_attentions(v) or sparse_heads(v)) for v in views)


def _purpose_for_distances(view: ModuleView, step: Step) -> str:
    """Return what a layer does that projects the vectors of distances between positions."""
    graph = view.graph
    users = () if graph is None else graph.users(step)
    if not any(user.operation in ("position bias", "div", "mul") for user in users):
        return ""
    heads = next((heads_of(view, each) for each in own_attentions(view)), None)
    found = () if heads is None else products_of(heads)
    product = next((each for each in found if each.path == step.node.path), None)
    if product is None:
        return ""
    return _DISTANCE_KEYS if product.role == "query" else _DISTANCE_QUERIES


LINEAR = Template("linear", _linear)

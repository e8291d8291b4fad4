"""Whole layers: sub-layers with residual connections, one after the other or in parallel."""

from bertviewer.core.formulas.formula import Formula, Term
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import TOKENS, number_maths, quoted, sized
from bertviewer.core.formulas.templates.feed_forward import DROPOUT, FeedForward, read_feed_forward
from bertviewer.core.formulas.templates.norm import Norm, is_norm
from bertviewer.core.formulas.templates.residual import (
    Branch,
    ResidualPath,
    Scale,
    SubLayer,
    residual_path,
)
from bertviewer.core.formulas.templates.sub_layer import ENCODER_OUTPUT, RESIDUAL, post_norm
from bertviewer.core.formulas.templates.template import Template
from bertviewer.core.frozen import frozen

_ENTRY = "X'"
_FFN = 'op("FFN")'
_EXPERTS = 'op("MoE")'
_NAMES = {"attention": '"Attention"', "cross-attention": '"CrossAttention"', "experts": _EXPERTS}
_PRE_NORM = (
    "Pre-norm: each sub-layer normalises its own input, and the residual path runs from the first "
    "layer to the last without normalisation."
)
_BARE_FIRST = (
    "The first layer has no norm before its attention because the embeddings end with one. "
    "Otherwise it is pre-norm: each sub-layer normalises its own input, and the residual path is "
    "not normalised."
)
_SANDWICH = (
    "Each sub-layer normalises both its input and its output; the residual path itself is not "
    "normalised."
)
_OUTPUT_NORM = (
    "Each sub-layer normalises its output before it is added; the residual path itself is not "
    "normalised."
)
_PARALLEL = (
    "Parallel sub-layers: attention and feed-forward network read the same input, and both are "
    "added to it in one step. The two can be computed at the same time."
)
_ORDERS = {
    "post": ("post-norm", "each followed by a residual connection and {norm}"),
    "pre": ("pre-norm", "each preceded by {norm} and followed by a residual connection"),
    "bare": ("pre-norm", "each preceded by {norm} and followed by a residual connection"),
    "sandwich": (
        "norms before and after",
        "each preceded and followed by {norm} inside its residual connection",
    ),
    "output": ("output norm", "each followed by {norm} inside its residual connection"),
    "none": ("without norms", "each followed by a residual connection"),
    "mixed": ("mixed norms", "each with a residual connection"),
}


@frozen
class _Layer:
    """A layer with the name of each branch and the networks that are written out."""

    path: ResidualPath
    order: str
    names: tuple[str, ...]
    network: FeedForward | None

    @property
    def entry(self) -> str:
        """The function before the first residual connection, "" for none."""
        step = self.path.entry
        if step is None:
            return ""
        return Norm.of(step).operator if is_norm(step) else quoted(step.node.name)

    @property
    def norms(self) -> tuple[Norm, ...]:
        """All norms."""
        found = [Norm.of(self.path.entry)] if is_norm(self.path.entry) else []
        for sub_layer in self.path.sub_layers:
            for branch in sub_layer.branches:
                found += [norm for norm in (branch.before, branch.inside) if norm is not None]
            found += [] if sub_layer.after is None else [sub_layer.after]
        return tuple(found)

    @property
    def is_parallel(self) -> bool:
        """Whether any sub-layers read the same input."""
        return any(len(each.branches) > 1 for each in self.path.sub_layers)


def _read(view: ModuleView) -> _Layer | None:
    path = None if view.graph is None else residual_path(view.graph)
    if path is None:
        return None
    if any(
        branch.kind == "other" and _core_child(view, branch) is None for branch in path.branches
    ):
        return None
    has_block = path.entry is not None and not is_norm(path.entry)
    if len(path.branches) + has_block < 2 and path.branches[0].kind != "other":
        return None
    names: list[str] = []
    network: FeedForward | None = None
    networks = [branch for branch in path.branches if branch.kind == "feed-forward"]
    for branch in path.branches:
        if branch.kind == "feed-forward":
            names.append(_FFN if len(networks) == 1 else f'op("FFN"_{networks.index(branch) + 1})')
        else:
            names.append(_NAMES.get(branch.kind) or quoted(_core_child(view, branch) or ""))
    if len(networks) == 1:
        network = read_feed_forward(networks[0].last, view)
    return _Layer(path, _order(path), tuple(names), network)


def _core_child(view: ModuleView, branch: Branch) -> str | None:
    """Return the name of the child module that computes all of a branch, if one does."""
    start = f"{view.node.path}." if view.node.path else ""
    paths = {(step.node.path or "").removeprefix(start).partition(".")[0] for step in branch.core}
    return paths.pop() if len(paths) == 1 and paths <= set(view.children) else None


def _order(path: ResidualPath) -> str:
    """Return where the norms of a layer are."""
    places = [
        (branch.before is not None, branch.inside is not None, sub_layer.after is not None)
        for sub_layer in path.sub_layers
        for branch in sub_layer.branches
    ]
    known = {
        (True, False, False): "pre",
        (False, False, True): "post",
        (True, True, False): "sandwich",
        (False, True, False): "output",
        (False, False, False): "none",
    }
    found = {known.get(place, "mixed") for place in places}
    if places[0] == (False, False, False) and found == {"none", "pre"}:
        return "bare"
    return found.pop() if len(found) == 1 else "mixed"


def _layer(view: ModuleView) -> Formula | None:
    """A layer (Vaswani et al. 2017, section 3.1; pre-norm: Radford et al. 2019, section 2.3)."""
    layer = _read(view)
    if layer is None:
        return None
    kinds = [branch.kind for branch in layer.path.branches]
    width = view.width_of(layer.path.branches[-1].last)
    is_cross = "cross-attention" in kinds
    if is_cross:
        kind = "Decoder layer"
    elif "attention" in kinds:
        kind = "Transformer layer"
    else:
        kind = "Layer" if view.node.name.isdecimal() else "Sub-layer"
    one = "One sub-layer" if kind == "Sub-layer" else "One layer of the stack"
    placement, order = _ORDERS[layer.order]
    norm = layer.norms[0].one if layer.norms else ""
    order = order if len(kinds) > 1 else order.removeprefix("each ")
    parallel = ", parallel" if layer.is_parallel else ""
    return Formula(
        title=f"{kind}, {placement}{parallel}",
        summary=f"{one}: {_listed(view, layer)}, {order.format(norm=norm)}.",
        maths=(*_lines(layer, width), *_network_lines(layer)),
        terms=_terms(view, layer, width),
        notes=_notes(view, layer, width),
        config_keys=view.keys("width", "heads", "feed-forward", "activation", "norm first"),
        source="Vaswani et al. 2017, section 3.1"
        + (
            "; pre-norm: Radford et al. 2019, section 2.3, and Xiong et al. 2020"
            if layer.order in ("pre", "bare")
            else ""
        )
        + ("; parallel: Wang & Komatsuzaki 2021" if layer.is_parallel else ""),
    )


def _listed(view: ModuleView, layer: _Layer) -> str:
    """Return the sub-layers in words."""
    words = {
        "attention": "self-attention",
        "cross-attention": "cross-attention",
        "feed-forward": "a feed-forward network",
        "experts": "a mixture of experts",
    }
    named = [
        words.get(branch.kind) or f"“{_core_child(view, branch)}”" for branch in layer.path.branches
    ]
    entry = layer.path.entry
    if entry is not None and not is_norm(entry):
        named.insert(0, f"“{entry.node.name}”")
    if len(named) == 1:
        return named[0]
    return f"{', '.join(named[:-1])} and {named[-1]}"


def _lines(layer: _Layer, width: int) -> tuple[str, ...]:
    """Return one line for each residual connection."""
    names = iter(layer.names)
    argument, lines = "X", []
    if layer.entry:
        lines.append(f"{sized(_ENTRY, 'S', width)} = {layer.entry}(X)")
        argument = _ENTRY
    last = len(layer.path.sub_layers) - 1
    for number, sub_layer in enumerate(layer.path.sub_layers):
        result = "Y" if number == last else f"Z{chr(39) * number}"
        read = argument
        shared = _shared_norm(sub_layer)
        if shared is not None:
            lines.append(f"{sized('N', 'S', width)} = {shared.operator}({argument})")
            read = "N"
        added = [
            _added(branch, next(names), read, is_normed=shared is not None)
            for branch in sub_layer.branches
        ]
        total = " + ".join([argument, *added])
        if sub_layer.after is not None:
            total = f"{sub_layer.after.operator}({total})"
        lines.append(f"{sized(result, 'S', width)} = {total}")
        argument = result
    return tuple(lines)


def _shared_norm(sub_layer: SubLayer) -> Norm | None:
    """Return the norm that parallel branches share, ``None`` if each has its own."""
    steps = {branch.norm_step for branch in sub_layer.branches}
    return sub_layer.branches[0].before if len(sub_layer.branches) > 1 == len(steps) else None


def _added(branch: Branch, name: str, argument: str, *, is_normed: bool) -> str:
    """Return what a branch adds to the residual path; a shared norm was applied before."""
    inner = argument
    if branch.before is not None and not is_normed:
        inner = f"{branch.before.operator}({argument})"
    more = f", {ENCODER_OUTPUT.symbol}" if branch.kind == "cross-attention" else ""
    found = f"{name}({inner}{more})"
    if branch.inside is not None:
        return f"{branch.inside.operator}({found})"
    if branch.scale is not None:
        number = branch.scale.number
        return f"lambda dot.o {found}" if number is None else f"{number_maths(number)} thin {found}"
    return found


def _network_lines(layer: _Layer) -> tuple[str, ...]:
    return () if layer.network is None else (f"{_FFN}(x) = {layer.network.maths('x')}",)


def _terms(view: ModuleView, layer: _Layer, width: int) -> tuple[Term, ...]:
    terms = [TOKENS, Term("X", "input, one row per position", f"[S, {width}]")]
    if any(_shared_norm(sub_layer) is not None for sub_layer in layer.path.sub_layers):
        terms.append(Term("N", "the normalised input, which all parallel sub-layers read"))
    entry = layer.path.entry
    if entry is not None and not is_norm(entry):
        about = f"the child “{entry.node.name}” ({entry.node.class_name})"
        terms.append(Term(layer.entry, f"{about}, explained on its own page"))
    for branch, name in zip(layer.path.branches, layer.names, strict=True):
        if branch.kind == "attention":
            terms.append(Term(name, "multi-head self-attention, with its output projection"))
        elif branch.kind == "cross-attention":
            terms += [ENCODER_OUTPUT, Term(name, "attention to the encoder’s output")]
        elif branch.kind == "experts":
            terms.append(Term(name, _experts_meaning(branch)))
        elif branch.kind == "other":
            terms.append(_other_term(view, branch, name))
        elif layer.network is None:
            terms.append(Term(name, "a feed-forward network, applied to each row"))
    if layer.network is not None:
        terms += layer.network.terms("the feed-forward network’s")
    if any(branch.scale == Scale() for branch in layer.path.branches):
        terms.append(Term("lambda", "learnt scale of each feature (layer scale)", f"[{width}]"))
        terms.append(Term("dot.o", "element-wise product"))
    for norm in layer.norms:
        terms += norm.terms
    first = {term.symbol: term for term in reversed(terms)}
    return tuple(first[symbol] for symbol in dict.fromkeys(term.symbol for term in terms))


def _experts_meaning(branch: Branch) -> str:
    experts = next(step for step in branch.core if step.operation == "experts")
    count, chosen = (experts.node.details.get(key) for key in ("experts", "chosen"))
    some = f", {chosen} of {count} for each position" if chosen else f" of {count}"
    return f"mixture of experts{some}"


def _other_term(view: ModuleView, branch: Branch, name: str) -> Term:
    child = view.children[_core_child(view, branch) or ""]
    about = f"the child “{child.name}” ({child.class_name})"
    return Term(name, f"{about}, explained on its own page")


def _notes(view: ModuleView, layer: _Layer, width: int) -> tuple[str, ...]:
    kinds = {branch.kind for branch in layer.path.branches}
    where = {
        "post": post_norm(layer.norms[0]) if layer.norms else "",
        "pre": _PRE_NORM,
        "bare": _BARE_FIRST,
        "sandwich": _SANDWICH,
        "output": _OUTPUT_NORM,
    }.get(layer.order, "")
    notes = [RESIDUAL, *((where,) if where else ()), *((_PARALLEL,) if layer.is_parallel else ())]
    if kinds & {"attention", "cross-attention"} and kinds & {"feed-forward", "experts"}:
        other = "feed-forward network" if "feed-forward" in kinds else "experts"
        verb = "processes" if "feed-forward" in kinds else "process"
        notes.append(
            f"Attention moves information between positions; the {other} {verb} each "
            "position independently."
        )
    notes.append(f"Input and output have the same shape, [S, {width}], so layers can be stacked.")
    if "cross-attention" in kinds and view.node.class_module.startswith("transformers."):
        notes.append("Cross-attention runs only when encoder hidden states are given.")
    if unused := _unused_children(view):
        notes.append(f"Not used in this forward pass: {', '.join(unused)}.")
    return (*notes, DROPOUT)


def _unused_children(view: ModuleView) -> tuple[str, ...]:
    """Return the children with parameters that the traced forward pass does not call."""
    flows = view.architecture.flows
    called = set() if flows is None else {*flows.distinct, *flows.like}
    return tuple(
        f"“{name}”"
        for name, child in view.children.items()
        if child.parameters
        and not any(path == child.path or path.startswith(f"{child.path}.") for path in called)
    )


def norm_order(view: ModuleView) -> str:
    """Return where a layer's norms are: ``pre``, ``post``, ``bare`` …; "" if it is no layer."""
    layer = _read(view)
    return "" if layer is None else layer.order


def _of_list(view: ModuleView) -> Formula | None:
    return _layer(view) if view.node.name.isdecimal() else None


LAYER = (Template("layer", _of_list), Template("sub-layer", _layer))

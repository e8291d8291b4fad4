"""Feed-forward networks: plain, gated, and mixtures of experts."""

from msgspec.structs import replace

from bertviewer.core.formulas.activation import activation_term
from bertviewer.core.formulas.formula import GELU_TANH
from bertviewer.core.formulas.module_view import ModuleView, dropout_of
from bertviewer.core.formulas.steps.graph_analysis import (
    GATED_NETWORK,
    NETWORKS,
    PLAIN_NETWORK,
    OperandKey,
    activation_of,
    split_gate,
    uses_of,
)
from bertviewer.core.formulas.steps.lines import match_of_steps, write
from bertviewer.core.formulas.steps.naming import Naming
from bertviewer.core.formulas.template import Match, Template
from bertviewer.core.graph.module_graph import Step
from bertviewer.core.schema.flow import Operand

HALF = "feed-forward, first half"
ROW_WISE = "Each position is processed independently; only attention mixes positions."
DROPOUT = (
    "Dropout (p = {dropout}) is active only during training; in evaluation mode it has no effect "
    "and is omitted here."
)
_USUAL_RATIO = 4
"""The inner size of most plain networks as a multiple of the width (Vaswani et al. 2017, 3.3)."""

_GATES = {'op("SiLU")': " (SwiGLU)", 'op("GELU")': " (GEGLU)", GELU_TANH: " (GEGLU)"}
_MEANINGS = {
    "X": "input, one row per position",
    "H": "inner features, one row per position",
    "Y": "output, one row per position",
}


def steps_of_network(group: Step) -> tuple[Step, ...]:
    """Return the steps of a group that is a network, none for other forms."""
    inner = group.inner
    return inner if activation_of(inner) and uses_of(inner, group.operation) else ()


def half_of_network(view: ModuleView) -> str:
    """Return which half of a network in two modules (BERT) a module is, "" for neither.

    The second half has the second linear layer, the residual and the norm.
    """
    around = view.at(view.node.parent or "")
    groups = () if around is None else around.graph.of(*NETWORKS)
    for group in groups:
        paths = [step.path for step in group.inner if step.operation == "linear"]
        is_own = [path.startswith(f"{view.node.path}.") for path in paths]
        if is_own and is_own[0] != is_own[-1]:
            return "first" if is_own[0] else "second"
    return ""


def _network(view: ModuleView) -> Match | None:
    """Return the formula of a network or of its first half."""
    graph, group = view.graph, view.only(*NETWORKS)
    if not graph.results:
        return None
    steps, kind, words = graph.steps, HALF, [step.operation for step in graph.steps]
    if group is not None:
        steps, kind = steps_of_network(group), group.operation
    elif words != ["linear", "activation"] or half_of_network(view) != "first":
        return None
    act, is_half = activation_of(steps), kind == HALF
    first = None if act is None else view.affine_of(steps[0])
    if first is None or act is None:
        return None
    uses = uses_of(steps, PLAIN_NETWORK if is_half else kind, "the feed-forward network’s")
    product, halves = split_gate(steps)
    if kind == GATED_NETWORK and len(uses) == 2 and not halves:
        return None
    symbols: dict[OperandKey, str] = {(product, part): symbol for symbol, part in halves.items()}
    if not is_half:
        symbols[steps[-1].tensors[0].node, ()] = "H"
    # Steps that read the group's input have no operand for it.
    taken = () if group is None else group.tensors[:1]
    steps = tuple(
        s if any(o.node for o in s.operands) else replace(s, operands=(*taken, *s.operands))
        for s in steps
    )
    results = ((graph.results[0][0], Operand(steps[-1].node.id)),)
    inner = first.outputs // (2 if halves else 1)
    side = "rows" if first.transposed else "columns"
    holds = f"{steps[0].node.name}.weight holds both: {side} 0 to {inner - 1} compute {{}}, {side} "
    holds += f"{inner} to {2 * inner - 1} compute {{}}"
    values = {
        "inputs": first.inputs,
        "inner": inner,
        "gates": _GATES.get(activation_term(act).symbol, ""),
        "gate": "" if kind != GATED_NETWORK else "G" if halves else "W_G",
        "up": "U" if halves else "W_U",
        "narrow": kind == GATED_NETWORK and inner < _USUAL_RATIO * first.inputs,
        "stacked": holds.format(*halves) if halves and "::" not in str(halves) else "",
        "half": is_half,
        "dropout": dropout_of(view),
    }
    naming = Naming(("H" if is_half else "Y",), symbols, meanings=_MEANINGS, layers=uses)
    return replace(
        write(replace(graph, steps=steps, results=results), view, naming),
        values=values,
        keys=view.config_keys("groups of features" if is_half else "dropout"),
        case=kind,
    )


_NOTES = (
    ROW_WISE,
    "A gated network{gates}: {gate} determines how much of each of the {inner} features of {up} "
    "passes. Where the gate is near 0, the feature is blocked.",
    "{narrow?} It has three matrices where a plain network has two, so models use a smaller "
    "intermediate size to keep the parameter count.",
    "The tensor {stacked}.",
    "{not half?} The residual is added by the enclosing layer, not here.",
    "{half?} Without the non-linearity in between, the two linear layers would collapse into one.",
    DROPOUT,
)
_START = "Projects each position’s vector from {inputs} to {inner} features"
_SOURCE = "Vaswani et al. 2017, section 3.3"
FEED_FORWARD = Template(
    PLAIN_NETWORK,
    _network,
    title="Feed-forward network",
    summary=f"{_START}, applies a non-linearity and projects the result back.",
    notes=_NOTES,
    keys=("width", "feed-forward", "activation"),
    source=_SOURCE,
    cases={
        GATED_NETWORK: Template(
            title="Gated feed-forward network",
            summary=f"{_START}, multiplies each of them by a gate and projects the result back.",
            source=f"{_SOURCE}; gates: Shazeer 2020",
        ),
        HALF: Template(
            HALF,
            title="Feed-forward network, first half",
            summary=f"{_START} and applies a non-linearity.",
            source=f"{_SOURCE}; Devlin et al. 2019, appendix A.2",
        ),
    },
)


def _mixture(view: ModuleView) -> Match | None:
    """Return the formula of a mixture, a router or experts."""
    graph = view.graph
    router, experts = graph.sole("routing"), graph.sole("experts")
    if router is None:
        case = "experts" if experts is not None and graph.only is experts else ""
    elif experts is not None:
        case = "" if graph.of("residual") else "mixture"
    else:
        case = "router" if len(graph.steps) < 3 and not graph.of("experts") else ""
    step = experts or router
    if not case or step is None:
        return None
    count, chosen = (step.node.details.get(key) for key in ("experts", "chosen"))
    held, sizes = view.architecture.module(step.path), None
    total = 0 if held is None else held.parameters
    if isinstance(count, int) and isinstance(chosen, int) and total and total % count == 0:
        used = f"{chosen * (total // count):,} ({chosen} × {total // count:,})"
        sizes = f"{total:,} parameters, of which one position uses {used}"
    found = match_of_steps(
        view,
        some=f"{chosen if isinstance(chosen, int) else 'some'} of {count} experts",
        count=count,
        shared=" A shared expert processes every position." if graph.of(*NETWORKS) else "",
        sizes=sizes,
    )
    return found and replace(found, case=case)


_ROUTER = (
    "The router is a linear layer with one score per expert. Only the best scores of a position "
    "are kept, so each position is processed by few experts."
)
_SIZE = (
    "The experts hold {sizes}: the capacity grows with the number of experts, the computation per "
    "position does not."
)
_LOAD = (
    "Different positions can choose different experts. If most of them chose the same ones, the "
    "others would not be trained; models are trained with a loss or a bias that balances the load."
)
_EXPERTS_SOURCE = "Shazeer et al. 2017, section 2"
EXPERTS = Template(
    "experts",
    _mixture,
    keys=("width", "feed-forward", "experts", "activation"),
    source=_EXPERTS_SOURCE,
    cases={
        "mixture": Template(
            title="Mixture of experts",
            summary="Routes each position to {some} and adds their outputs, weighted by the router."
            "{shared}",
            notes=(
                _ROUTER,
                _SIZE,
                "{shared?} The shared expert learns what all positions need, so that the routed "
                "experts can specialise (Dai et al. 2024, section 3.2).",
                _LOAD,
                "{steps}",
            ),
            source=f"{_EXPERTS_SOURCE}; Fedus et al. 2022, section 2.1",
        ),
        "experts": Template(
            title="Experts",
            summary="Applies to each position the experts that the router chose for it, of "
            "{count}, and adds their outputs, weighted by the router.",
            notes=(_SIZE, "{steps}"),
        ),
        "router": Template(
            "router",
            title="Router",
            summary="Scores the experts for each position and chooses {some}, with their weights.",
            notes=(_ROUTER, _LOAD, "{steps}"),
            keys=("width", "experts"),
        ),
    },
)

"""Mixtures of experts: routers, experts, and the blocks that hold both (Shazeer et al. 2017)."""

from functools import partial

from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notes import Note
from bertviewer.core.formulas.steps.formula import match_of_steps
from bertviewer.core.formulas.steps.networks import KINDS
from bertviewer.core.formulas.templates.template import Match, Template
from bertviewer.core.graph.module_graph import ModuleGraph, Step


def _part(graph: ModuleGraph) -> str:
    """Return which part of a mixture a module is: all of it, the experts, the router, or none."""
    router, experts = graph.sole("routing"), graph.sole("experts")
    if router is None:
        return "experts" if experts is not None and graph.only is experts else ""
    if experts is not None:
        return "" if graph.of("residual") else "mixture"
    return "router" if len(graph.steps) < 3 and not graph.of("experts") else ""


def _mixture(part: str, view: ModuleView) -> Match | None:
    """Return what this part of a mixture computes, with the numbers of its experts."""
    graph = view.graph
    if graph is None or _part(graph) != part:
        return None
    step = graph.of("experts", "routing")[-1]  # the experts, if there are any
    count, chosen = (step.node.details.get(key) for key in ("experts", "chosen"))
    return match_of_steps(
        view,
        some=f"{chosen if isinstance(chosen, int) else 'some'} of {count} experts",
        count=count,
        shared=" A shared expert processes every position." if graph.of(*KINDS) else "",
        sizes=_sizes(view, step, count, chosen),
    )


def _sizes(view: ModuleView, experts: Step, count: object, chosen: object) -> str | None:
    """Return how many parameters all experts have, and how many of them one position uses."""
    held = view.architecture.module(experts.node.path or "")
    total = 0 if held is None else held.parameters
    if not isinstance(count, int) or not isinstance(chosen, int) or not total or total % count:
        return None
    each = total // count
    return (
        f"{total:,} parameters, of which one position uses {each * chosen:,} ({chosen} × {each:,})"
    )


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
_KEYS = ("width", "feed-forward", "experts", "activation")
_SOURCE = "Shazeer et al. 2017, section 2"

EXPERTS = (
    Template(
        "experts",
        partial(_mixture, "mixture"),
        title="Mixture of experts",
        summary="Routes each position to {some} and adds their outputs, weighted by the router."
        "{shared}",
        notes=(
            _ROUTER,
            _SIZE,
            Note(
                "What all positions need is left to the shared expert, so that the routed experts "
                "can specialise (Dai et al. 2024, section 3.2).",
                "shared",
            ),
            _LOAD,
            "{steps}",
        ),
        keys=_KEYS,
        source=f"{_SOURCE}; Fedus et al. 2022, section 2.1",
    ),
    Template(
        "experts",
        partial(_mixture, "experts"),
        title="Experts",
        summary="Applies to each position the experts that the router chose for it, of {count}, "
        "and adds their outputs, weighted by the router.",
        notes=(_SIZE, "{steps}"),
        keys=_KEYS,
        source=_SOURCE,
    ),
    Template(
        "router",
        partial(_mixture, "router"),
        title="Router",
        summary="Scores the experts for each position and chooses {some}, with their weights.",
        notes=(_ROUTER, _LOAD, "{steps}"),
        keys=("width", "experts"),
        source=_SOURCE,
    ),
)

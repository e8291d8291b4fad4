"""Mixtures of experts: routers, experts, and the blocks that hold both (Shazeer et al. 2017)."""

from collections.abc import Callable

from bertviewer.core.formulas.graph import ModuleGraph, Step
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notes import Note
from bertviewer.core.formulas.steps.formula import match_of_steps
from bertviewer.core.formulas.templates.feed_forward import KINDS
from bertviewer.core.formulas.templates.template import Match, Template


def _is_mixture(graph: ModuleGraph) -> bool:
    is_layer = bool(graph.of("residual"))
    return graph.sole("experts") is not None and graph.sole("routing") is not None and not is_layer


def _is_experts(graph: ModuleGraph) -> bool:
    return graph.only is not None and graph.only.operation == "experts"


def _is_router(graph: ModuleGraph) -> bool:
    is_small = len(graph.steps) < 3 and not graph.of("experts")
    return is_small and graph.sole("routing") is not None


def _match(holds: Callable[[ModuleGraph], bool]) -> Callable[[ModuleView], Match | None]:
    """Return what recognises a part of a mixture, with the numbers of its experts."""

    def match(view: ModuleView) -> Match | None:
        graph = view.graph
        if graph is None or not holds(graph):
            return None
        step = graph.sole("experts") or graph.of("routing")[0]
        count, chosen = (step.node.details.get(key) for key in ("experts", "chosen"))
        return match_of_steps(
            view,
            some=f"{chosen if isinstance(chosen, int) else 'some'} of {count} experts",
            count=count,
            shared=" A shared expert processes every position." if graph.of(*KINDS) else "",
            sizes=_sizes(view, step, count, chosen),
        )

    return match


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
        _match(_is_mixture),
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
        _match(_is_experts),
        title="Experts",
        summary="Applies to each position the experts that the router chose for it, of {count}, "
        "and adds their outputs, weighted by the router.",
        notes=(_SIZE, "{steps}"),
        keys=_KEYS,
        source=_SOURCE,
    ),
    Template(
        "router",
        _match(_is_router),
        title="Router",
        summary="Scores the experts for each position and chooses {some}, with their weights.",
        notes=(_ROUTER, _LOAD, "{steps}"),
        keys=("width", "experts"),
        source=_SOURCE,
    ),
)

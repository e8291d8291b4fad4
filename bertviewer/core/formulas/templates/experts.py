"""Mixtures of experts: routers, experts, and the blocks that hold both (Shazeer et al. 2017)."""

from msgspec.structs import replace

from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.steps.formula import match_of_steps
from bertviewer.core.formulas.steps.networks import KINDS
from bertviewer.core.formulas.templates.template import Match, Template


def _mixture(view: ModuleView) -> Match | None:
    """Return what a part of a mixture computes, with the numbers of its experts."""
    graph = view.graph
    if graph is None:
        return None
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
    held, sizes = view.architecture.module(step.node.path or ""), None
    total = 0 if held is None else held.parameters
    if isinstance(count, int) and isinstance(chosen, int) and total and total % count == 0:
        used = f"{chosen * (total // count):,} ({chosen} × {total // count:,})"
        sizes = f"{total:,} parameters, of which one position uses {used}"
    found = match_of_steps(
        view,
        some=f"{chosen if isinstance(chosen, int) else 'some'} of {count} experts",
        count=count,
        shared=" A shared expert processes every position." if graph.of(*KINDS) else "",
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
_SOURCE = "Shazeer et al. 2017, section 2"
EXPERTS = Template(
    "experts",
    _mixture,
    keys=("width", "feed-forward", "experts", "activation"),
    source=_SOURCE,
    cases={
        "mixture": Template(
            title="Mixture of experts",
            summary="Routes each position to {some} and adds their outputs, weighted by the router."
            "{shared}",
            notes=(
                _ROUTER,
                _SIZE,
                "{shared?} What all positions need is left to the shared expert, so that the "
                "routed experts can specialise (Dai et al. 2024, section 3.2).",
                _LOAD,
                "{steps}",
            ),
            source=f"{_SOURCE}; Fedus et al. 2022, section 2.1",
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

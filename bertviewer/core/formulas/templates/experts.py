"""Mixtures of experts: routers, experts, and the blocks that hold both (Shazeer et al. 2017)."""

from dataclasses import replace

from bertviewer.core.formulas.formula import Formula
from bertviewer.core.formulas.graph import Step
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.steps.formula import formula_of_steps
from bertviewer.core.formulas.templates.feed_forward import KINDS
from bertviewer.core.formulas.templates.template import Template
from bertviewer.core.text.numerals import count_text

_SOURCE = "Shazeer et al. 2017, section 2"
_ROUTER_NOTE = (
    "The router is a linear layer with one score per expert. Only the best scores of a position "
    "are kept, so each position is processed by few experts."
)
_LOAD_NOTE = (
    "Different positions can choose different experts. If most of them chose the same ones, the "
    "others would not be trained; models are trained with a loss or a bias that balances the load."
)


def _block(view: ModuleView) -> Formula | None:
    """A router and its experts, with shared experts if there are any."""
    graph = view.graph
    experts = None if graph is None else graph.sole("experts")
    if graph is None or experts is None or graph.of("residual"):
        return None
    router = graph.sole("routing")
    if router is None:
        return _experts(view, experts) if graph.only is experts else None
    shared = graph.of(*KINDS)
    written = formula_of_steps(view)
    if written is None:
        return None
    some = _chosen(experts)
    return replace(
        written,
        title="Mixture of experts",
        summary=f"Routes each position to {some} and adds their outputs, weighted by the router."
        + (" A shared expert processes every position." if shared else ""),
        notes=(
            _ROUTER_NOTE,
            *_size_note(view, experts),
            *((_SHARED_NOTE,) if shared else ()),
            _LOAD_NOTE,
            *written.notes,
        ),
        config_keys=view.keys("width", "feed-forward", "experts", "activation"),
        source=f"{_SOURCE}; Fedus et al. 2022, section 2.1",
    )


_SHARED_NOTE = (
    "What all positions need is left to the shared expert, so that the routed experts can "
    "specialise (Dai et al. 2024, section 3.2)."
)


def _experts(view: ModuleView, experts: Step) -> Formula | None:
    """The experts alone; the router is another module."""
    written = formula_of_steps(view)
    if written is None:
        return None
    count = experts.node.details.get("experts")
    return replace(
        written,
        title="Experts",
        summary=f"Applies to each position the experts that the router chose for it, of {count}, "
        "and adds their outputs, weighted by the router.",
        notes=(*_size_note(view, experts), *written.notes),
        config_keys=view.keys("width", "feed-forward", "experts", "activation"),
        source=_SOURCE,
    )


def _router(view: ModuleView) -> Formula | None:
    """A router: scores for the experts, and the choice of the best."""
    graph = view.graph
    router = None if graph is None else graph.sole("routing")
    if graph is None or router is None or len(graph.steps) > 2 or graph.of("experts"):
        return None
    written = formula_of_steps(view)
    if written is None:
        return None
    some = _chosen(router)
    return replace(
        written,
        title="Router",
        summary=f"Scores the experts for each position and chooses {some}, with their weights.",
        notes=(_ROUTER_NOTE, _LOAD_NOTE, *written.notes),
        config_keys=view.keys("width", "experts"),
        source=_SOURCE,
    )


def _chosen(step: Step) -> str:
    """Return how many experts are chosen of how many, in words."""
    count, chosen = (step.node.details.get(key) for key in ("experts", "chosen"))
    if not isinstance(chosen, int):
        return f"some of {count} experts"
    return f"{count_text(chosen, '1', '{0}')} of {count} experts"


def _size_note(view: ModuleView, experts: Step) -> tuple[str, ...]:
    """Say how many of the experts' parameters one position uses."""
    count, chosen = (experts.node.details.get(key) for key in ("experts", "chosen"))
    held = view.architecture.module(experts.node.path or "")
    total = 0 if held is None else held.parameters
    if not isinstance(count, int) or not isinstance(chosen, int) or not total or total % count:
        return ()
    each = total // count
    return (
        f"The experts hold {total:,} parameters, of which one position uses {each * chosen:,} "
        f"({chosen} × {each:,}): the capacity grows with the number of experts, the "
        "computation per position does not.",
    )


EXPERTS = (Template("experts", _block), Template("router", _router))

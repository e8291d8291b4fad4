"""Questions about layers: norms, residuals, feed-forward widths, and random weights."""

from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from operator import itemgetter

from bertviewer.core.analysis.layers import layer_series
from bertviewer.core.explain.explanation import Context, Explanation, Numbers
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.steps.graph_analysis import GATED_NETWORK, NETWORKS
from bertviewer.core.formulas.templates.feed_forward import steps_of_network
from bertviewer.core.formulas.templates.residual import residual_path
from bertviewer.core.util.numbers import number_text, with_minus

_NETWORKS = ("feed-forward", "feed-forward, first half", "layer")
_USUAL_RATIO = 4
FLAT = 0.05
"""How far from 1 a standard deviation that is called "about 1" can be: as 1.0 in one decimal."""


def _gamma(context: Context) -> Numbers | None:
    weight, bias = context.view.shape("weight"), context.view.shape("bias")
    if weight is None or bias is None or len(weight) != 1:
        return None
    return {"features": f"{weight[0]:,}", "count": f"{context.node.own_parameters:,}"}


def _gamma_alone(context: Context) -> Numbers | None:
    view = context.view
    weight = view.shape("weight")
    if weight is None or len(weight) != 1 or view.shape("bias") is not None:
        return None
    step = view.graph.only
    is_one_plus = step is not None and step.node.details.get("one_plus") is True
    return {"features": f"{weight[0]:,}", "gamma": "1 + γ" if is_one_plus else "γ"}


def _adds_input(context: Context) -> Numbers | None:
    return None if residual_path(context.view) is None else {}


def _changes(context: Context) -> Iterator[tuple[str, float]]:
    """Yield each trained layer with the mean cosine of its tokens' vectors before and after it."""
    run, states = context.run, context.hidden_states
    if run is None or not states or not context.is_trained:
        return
    from bertviewer.core.analysis.similarity import cosines  # imports numpy

    every = context.architecture.modules if context.is_about_model else (context.node,)
    layers = {node.path for node in every if node.role == "layer"}
    for state in range(1, min(len(states), len(run.state_paths))):
        paths = run.state_paths[state]
        for path in (path for path in paths if path in layers):
            rows = [n for n in range(len(run.tokens)) if run.state_path(state, n) == path]
            pairs = cosines(states[state - 1][rows], states[state][rows])
            found = [cosine for cosine in pairs if cosine is not None]
            if found:
                is_shared = sum(path in each for each in run.state_paths) > 1  # as in ALBERT
                number = state - 1 if is_shared else path.rpartition(".")[2]
                name = path if len(paths) > 1 else f"layer {number}"
                yield name, sum(found) / len(found)


def _change(context: Context) -> Numbers | None:
    found = sorted(_changes(context), key=itemgetter(1))
    if not found:
        return None
    texts = [f"{with_minus(f'{cosine:.2f}')} in {layer}" for layer, cosine in found]
    is_one = len(texts) == 1
    return {"cosines": f"is {texts[0]}" if is_one else f"ranges from {texts[0]} to {texts[-1]}"}


def _widths(view: ModuleView) -> tuple[int, int, bool] | None:
    """Return outer and inner width of a module's feed-forward network, and whether it is gated."""
    graph = view.graph
    if view.node.role == "feed-forward, first half" and graph.steps:
        first = view.affine_of(graph.steps[0])
        return None if first is None else (first.inputs, first.outputs, False)
    group = graph.sole(*NETWORKS)
    # If the whole network is one module, that module has the question.
    if group is None or (group is not graph.only and group.node.path != view.node.path):
        return None
    steps = steps_of_network(group)
    last = view.affine_of(steps[-1]) if steps else None
    return None if last is None else (last.outputs, last.inputs, group.operation == GATED_NETWORK)


def _width(context: Context, *, is_gated: bool, is_usual: bool | None = None) -> Numbers | None:
    """Return the widths of a feed-forward network, gated or not, four times as wide or not."""
    widths = _widths(context.view)
    if widths is None or widths[2] != is_gated:
        return None
    outer, inner, _ = widths
    if is_usual is not None and (inner == _USUAL_RATIO * outer) != is_usual:
        return None
    return {"width": f"{outer:,}", "inner": f"{inner:,}", "ratio": f"{inner / outer:.3g}"}


def _norm_order(context: Context) -> str | None:
    """Return whether norms are "before" the sub-layers or "after" the sums, as ``Residual``."""
    for node in context.architecture.modules:
        if node.role == "layer":
            path = residual_path(ModuleView.of(node, context.architecture))
            return None if path is None else path.order
    return None


def _stds_of_random(context: Context, orders: tuple[str, ...]) -> tuple[float, ...]:
    """Return the standard deviations of the layers' outputs in the first stack.

    Empty unless weights are random, there are several layers, and norms have one of these orders.
    """
    run = context.run
    if run is None or not context.is_random:
        return ()
    series = layer_series(context.architecture, run)[:1]
    calls = [(run.activation(path), call) for one in series for path, call in one.points()]
    found = [activation.calls[call].std for activation, call in calls if activation is not None]
    stds = tuple(std for std in found if std is not None)
    return stds if len(stds) > 1 and _norm_order(context) in orders else ()


def _flat(context: Context) -> Numbers | None:
    """Return the standard deviations of layers that end in a norm, if all are about 1."""
    stds = _stds_of_random(context, ("after",))
    has_rms_norms = any(node.role == "RMS norm" for node in context.architecture.modules)
    if not stds or has_rms_norms or max(stds) > 1 + FLAT or min(stds) < 1 - FLAT:
        return None
    first, last = f"{min(stds):.3f}", f"{max(stds):.3f}"
    return {"range": f"{first} in every layer" if first == last else f"between {first} and {last}"}


def _growing(context: Context) -> Numbers | None:
    stds = _stds_of_random(context, ("before", "bare"))
    if not stds or any(after <= before for before, after in pairwise(stds)):
        return None
    first, last = number_text(stds[0], 3), number_text(stds[-1], 3)
    return {"first": first, "last": last} if first != last else None


EXPLANATIONS = (
    Explanation(
        "gamma",
        "What does γ scale in layer normalisation?",
        "Each of the {features} features has its own scale γ and its own bias β: 2 × {features} "
        "= {count} parameters, shared by all positions. Mean and variance are not parameters: "
        "they are computed for each position, over its {features} features.",
        "Ba et al. 2016, sections 3 and 3.1",
        _gamma,
        ("layer norm",),
    ),
    Explanation(
        "gamma-alone",
        "What does γ scale, and where is β?",
        "Each of the {features} features is multiplied by its own γ, which all positions share. "
        "This norm has no β, so nothing is added.",
        "Ba et al. 2016, sections 3 and 3.1",
        _gamma_alone,
        ("layer norm",),
    ),
    Explanation(
        "gamma-of-rms",
        "What does γ scale, and where is β?",
        "Each of the {features} features is multiplied by its own factor {gamma}, which all "
        "positions share. RMS normalisation does not subtract the mean, and this norm adds no β. "
        "Scaling alone was found to work about as well.",
        "Zhang & Sennrich 2019",
        _gamma_alone,
        ("RMS norm",),
    ),
    Explanation(
        "residual",
        "Why is the input added back?",
        "The input of each sub-layer is added to its output, so that the sub-layer only has to "
        "learn a correction to its input. The sum also passes gradients on unchanged. Both make "
        "deep networks easier to train.",
        "He et al. 2016; Vaswani et al. 2017, section 3.1",
        _adds_input,
        ("layer",),
        views=("Token",),
        section="formulas",
        measured_text="In this run, the mean cosine between a token’s vectors before and after a "
        "layer {cosines}.",
        measured=_change,
    ),
    Explanation(
        "four-times",
        "Why is the feed-forward network four times as wide?",
        "The original Transformer had 2,048 inner features for a hidden size of 512, and many "
        "models kept this factor. It is empirical and has no theoretical derivation. Each of the "
        "{inner} inner features can be read as a pattern that is detected in a vector, and as "
        "what is added to the vector in this case.",
        "Vaswani et al. 2017, section 3.3; Geva et al. 2021",
        partial(_width, is_gated=False, is_usual=True),
        _NETWORKS,
        section="parameters",
    ),
    Explanation(
        "other-width",
        "Why does the feed-forward network have {inner} inner features?",
        "Their number is a design choice: the original Transformer had 4 times the hidden size, "
        "and this network has {ratio} times {width}. Each of the {inner} inner features can be "
        "read as a pattern that is detected in a vector, and as what is added to the vector in "
        "this case.",
        "Vaswani et al. 2017, section 3.3; Geva et al. 2021",
        partial(_width, is_gated=False, is_usual=False),
        _NETWORKS,
        section="parameters",
    ),
    Explanation(
        "gated-width",
        "Why does the feed-forward network have {inner} inner features?",
        "A gated network has three matrices, a plain one two. With 8/3 = 2.67 instead of 4 times "
        "the hidden size, both have the same number of parameters. This network has {inner} inner "
        "features for vectors of size {width}, a factor of {ratio}.",
        "Shazeer 2020, section 2",
        partial(_width, is_gated=True),
        _NETWORKS,
        section="parameters",
    ),
    Explanation(
        "flat-lines",
        "Why does every layer’s output have a standard deviation of about 1?",
        "The weights are random, and every layer ends in a norm with the initial values γ = 1 and "
        "β = 0. Such a norm gives every vector mean 0 and standard deviation 1, whatever its "
        "input.",
        "Ba et al. 2016, section 3",
        _flat,
        views=("Layers", "Token"),
        section="statistics",
        measured_text="In this run it is {range}.",
    ),
    Explanation(
        "growing-lines",
        "Why does the standard deviation rise from layer to layer?",
        "The weights are random, and the norms come before the sub-layers. No norm therefore "
        "limits the sum to which each layer adds its output.",
        "Xiong et al. 2020",
        _growing,
        views=("Layers", "Token"),
        section="statistics",
        measured_text="In this run, the standard deviation of the layers’ outputs rises from "
        "{first} to {last}.",
    ),
)

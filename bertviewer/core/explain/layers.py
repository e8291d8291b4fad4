"""Questions about layers: norms, residuals, feed-forward widths, and random weights."""

from functools import partial
from itertools import pairwise
from math import prod

from bertviewer.core.analysis.layers import layer_series
from bertviewer.core.explain.explanation import Context, Explanation, Numbers
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.steps.graph_analysis import GATED_NETWORK, NETWORKS
from bertviewer.core.formulas.templates.feed_forward import steps_of_network
from bertviewer.core.formulas.templates.residual import residual_path
from bertviewer.core.util.numbers import count_text, number_text, with_minus

_NETWORKS = ("feed-forward", "feed-forward, first half", "layer")
_USUAL_RATIO = 4
_FLAT = 1.1
"""The largest ratio of standard deviations in lines that are called flat."""


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


def _positions(context: Context) -> Numbers | None:
    shape = () if context.activation is None else context.activation.output_shape
    if len(shape) < 2:
        return None
    count = prod(shape[:-1])  # XLNet has the tokens before the batch
    return {"positions": count_text(count, "{0} position", "{0} positions")}


def _always(_context: Context) -> Numbers | None:
    return {}


def _change(context: Context) -> Numbers | None:
    run, states, path = context.run, context.hidden_states, context.node.path
    state = None if run is None else run.state_of(path)
    if run is None or not state or state >= len(states) or path not in run.state_paths[state]:
        return None
    from bertviewer.core.analysis.similarity import cosines  # imports numpy

    found = [x for x in cosines(states[state - 1], states[state]) if x is not None]
    return {"cosine": with_minus(f"{sum(found) / len(found):.2f}")} if found else None


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
    stds = _stds_of_random(context, ("after",))
    if not stds or max(stds) > _FLAT * min(stds):
        return None
    first, last = f"{min(stds):.3f}", f"{max(stds):.3f}"
    return {"range": f"{first} in every layer" if first == last else f"between {first} and {last}"}


def _growing(context: Context) -> Numbers | None:
    stds = _stds_of_random(context, ("before", "bare"))
    if not stds or any(after <= before for before, after in pairwise(stds)):
        return None
    return {"first": number_text(stds[0], 3), "last": number_text(stds[-1], 3)}


EXPLANATIONS = (
    Explanation(
        "gamma",
        "What does γ scale in layer normalisation?",
        "Each of the {features} features has its own scale γ and its own bias β: 2 × {features} "
        "= {count} parameters, shared by all positions. Mean and variance are computed per "
        "position, over its {features} features.",
        "Ba et al. 2016",
        _gamma,
        ("layer norm",),
        sections=("formulas", "parameters"),
        measured_text="This run has {positions}, each with its own mean and variance, but no "
        "additional parameters.",
        measured=_positions,
    ),
    Explanation(
        "gamma-alone",
        "What does γ scale, and where is β?",
        "Each of the {features} features is multiplied by its own γ, the same for all positions. "
        "This model was built without β: nothing is added.",
        "Ba et al. 2016",
        _gamma_alone,
        ("layer norm",),
        sections=("formulas", "parameters"),
        measured_text="This run has {positions}, but no additional parameters.",
        measured=_positions,
    ),
    Explanation(
        "gamma-of-rms",
        "What does γ scale, and where is β?",
        "Each of the {features} features is multiplied by its own factor {gamma}, the same for "
        "all positions. RMS normalisation does not subtract the mean and has no β: scaling alone "
        "was found to work as well.",
        "Zhang & Sennrich 2019",
        _gamma_alone,
        ("RMS norm",),
        sections=("formulas", "parameters"),
        measured_text="This run has {positions}, but no additional parameters.",
        measured=_positions,
    ),
    Explanation(
        "residual",
        "Why is the input added back?",
        "Each sub-layer’s input is added to its output, so it only has to learn a correction. "
        "Gradients pass through the sum unchanged, which is why deep stacks can be trained.",
        "He et al. 2016; Vaswani et al. 2017",
        _always,
        ("layer",),
        views=("Token",),
        sections=("formulas",),
        measured_text="In this run, a token’s vector after this layer has a mean cosine of "
        "{cosine} with its vector before the layer.",
        measured=_change,
    ),
    Explanation(
        "four-times",
        "Why is the feed-forward network four times as wide?",
        "The 2017 Transformer used 2,048 inner features for a hidden size of 512, and most "
        "models kept the factor of 4: it is empirical and has no theoretical derivation. Each of "
        "the {inner} inner features can be read as a pattern to be matched, and what to add to a "
        "vector that matches it.",
        "Vaswani et al. 2017; Geva et al. 2021",
        partial(_width, is_gated=False, is_usual=True),
        _NETWORKS,
        sections=("formulas", "parameters"),
    ),
    Explanation(
        "other-width",
        "Why is the feed-forward network {ratio} times as wide?",
        "The factor is a design choice: the 2017 Transformer used 4; this configuration has "
        "{inner} inner features for vectors of size {width}. Each of the {inner} can be read as "
        "a pattern to be matched, and what to add to a vector that matches it.",
        "Vaswani et al. 2017; Geva et al. 2021",
        partial(_width, is_gated=False, is_usual=False),
        _NETWORKS,
        sections=("formulas", "parameters"),
    ),
    Explanation(
        "gated-width",
        "Why is the feed-forward network {ratio} times as wide?",
        "A gated network has three matrices, a plain one two. With a factor of 8/3 = 2.67 "
        "instead of 4 both have the same number of parameters; this configuration has {inner} "
        "inner features for vectors of size {width}.",
        "Shazeer 2020",
        partial(_width, is_gated=True),
        _NETWORKS,
        sections=("formulas", "parameters"),
    ),
    Explanation(
        "flat-lines",
        "Why are the lines so flat?",
        "The weights are random: all layers are drawn from the same distribution, and none has a "
        "particular role. Each ends in a norm whose γ is still 1 and whose β is still 0, which "
        "gives every vector mean 0 and standard deviation 1, whatever its input.",
        "Ba et al. 2016",
        _flat,
        views=("Layers", "Token"),
        sections=("statistics",),
        measured_text="Here the standard deviation of the layers’ outputs is {range}.",
        measured=_flat,
    ),
    Explanation(
        "growing-lines",
        "Why do the lines rise so evenly?",
        "The weights are random: all layers are drawn from the same distribution, and none has a "
        "particular role. As the norms come before the sub-layers, each layer adds about as much "
        "as the one before it, so the sum grows from layer to layer.",
        "Xiong et al. 2020",
        _growing,
        views=("Layers", "Token"),
        sections=("statistics",),
        measured_text="Here the standard deviation of the layers’ outputs rises from {first} to "
        "{last}.",
        measured=_growing,
    ),
)

"""What is asked of layers: norms, residuals, and how wide their networks are."""

from itertools import pairwise
from math import prod

from msgspec import Struct

from bertviewer.core.analysis.layer_parts import layer_series
from bertviewer.core.explain.explanation import Asked, Explanation, Numbers
from bertviewer.core.explain.facts import is_random
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.steps.networks import GATED, KINDS
from bertviewer.core.formulas.templates.feed_forward import steps_of_network
from bertviewer.core.formulas.templates.residual import residual_path
from bertviewer.core.util.numbers import count_text, number_text, with_minus

_NETWORKS = ("feed-forward", "feed-forward, first half", "layer")
_USUAL = 4
_FLAT = 1.1
"""How much larger the largest std of flat lines is than the smallest, at the most."""


def _gamma(asked: Asked) -> Numbers | None:
    weight, bias = asked.view.shape("weight"), asked.view.shape("bias")
    if weight is None or bias is None or len(weight) != 1:
        return None
    return {"features": f"{weight[0]:,}", "count": f"{asked.node.own_parameters:,}"}


def _gamma_alone(asked: Asked) -> Numbers | None:
    weight = asked.view.shape("weight")
    if weight is None or len(weight) != 1 or asked.view.shape("bias") is not None:
        return None
    graph = asked.view.graph
    step = None if graph is None else graph.only
    is_one_plus = step is not None and step.node.details.get("one_plus") is True
    return {"features": f"{weight[0]:,}", "gamma": "1 + γ" if is_one_plus else "γ"}


def _positions(asked: Asked) -> Numbers | None:
    activation = None if asked.run is None else asked.run.activation(asked.node.path)
    if activation is None or len(activation.output_shape) < 2:
        return None
    count = prod(activation.output_shape[:-1])  # XLNet has its tokens before the batch
    return {"positions": count_text(count, "{0} position", "{0} positions")}


def _residual(_asked: Asked) -> Numbers | None:
    return {}


def _change(asked: Asked) -> Numbers | None:
    run = asked.run
    state = None if run is None else run.state_of(asked.node.path)
    if run is None or not state or state >= len(run.hidden_states):
        return None
    from bertviewer.core.analysis.similarity import cosines  # and with it numpy

    if not any(path == asked.node.path for path in run.state_paths[state]):
        return None
    found = [
        cosine
        for cosine in cosines(run.hidden_states[state - 1], run.hidden_states[state])
        if cosine is not None
    ]
    return {"cosine": with_minus(f"{sum(found) / len(found):.2f}")} if found else None


class Widths(Struct, frozen=True):
    """How wide a feed-forward network is outside and inside, and whether it has a gate."""

    outer: int
    inner: int
    is_gated: bool

    @property
    def numbers(self) -> Numbers:
        """The numbers for a text."""
        return {
            "width": f"{self.outer:,}",
            "inner": f"{self.inner:,}",
            "ratio": f"{self.inner / self.outer:.3g}",
        }


def network_widths(view: ModuleView) -> Widths | None:
    """Return how wide the feed-forward network in a module is, ``None`` if it holds none."""
    graph = view.graph
    if graph is None:
        return None
    if view.node.role == "feed-forward, first half":
        first = view.affine_of(graph.steps[0])
        return None if first is None else Widths(first.inputs, first.outputs, is_gated=False)
    group = graph.sole(*KINDS)
    # Where the network is a module by itself, the question is asked there.
    if group is None or (group is not graph.only and group.node.path != view.node.path):
        return None
    steps = steps_of_network(group)
    last = view.affine_of(steps[-1]) if steps else None
    is_gated = group.operation == GATED
    return None if last is None else Widths(last.outputs, last.inputs, is_gated)


def _four_times(asked: Asked) -> Numbers | None:
    widths = network_widths(asked.view)
    if widths is None or widths.is_gated or widths.inner != _USUAL * widths.outer:
        return None
    return widths.numbers


def _other_width(asked: Asked) -> Numbers | None:
    widths = network_widths(asked.view)
    if widths is None or widths.is_gated or widths.inner == _USUAL * widths.outer:
        return None
    return widths.numbers


def _gated(asked: Asked) -> Numbers | None:
    widths = network_widths(asked.view)
    return widths.numbers if widths is not None and widths.is_gated else None


def norms_of_layers(asked: Asked) -> str | None:
    """Return whether the layers have their norms "before" the sub-layers or "after" the sums."""
    for node in asked.architecture.modules:
        if node.role == "layer":
            path = residual_path(ModuleView.of(node, asked.architecture))
            known = {"before": "before", "bare": "before", "after": "after"}
            return None if path is None else known.get(path.order)
    return None


def _stds(asked: Asked) -> tuple[float, ...]:
    """Return the std of what each layer of the first stack gave."""
    if asked.run is None:
        return ()
    found: list[float] = []
    for series in layer_series(asked.architecture, asked.run)[:1]:
        for path, call in series.points():
            activation = asked.run.activation(path)
            std = None if activation is None else activation.calls[call].std
            found += [] if std is None else [std]
    return tuple(found)


def _flat(asked: Asked) -> Numbers | None:
    stds = _stds(asked)
    if not is_random(asked.run) or len(stds) < 2 or norms_of_layers(asked) != "after":
        return None
    low, high = min(stds), max(stds)
    if high > _FLAT * low:
        return None
    first, last = f"{low:.3f}", f"{high:.3f}"
    return {"range": f"{first} in every layer" if first == last else f"between {first} and {last}"}


def _growing(asked: Asked) -> Numbers | None:
    stds = _stds(asked)
    if not is_random(asked.run) or len(stds) < 2 or norms_of_layers(asked) != "before":
        return None
    if any(after <= before for before, after in pairwise(stds)):
        return None
    return {"first": number_text(stds[0], 3), "last": number_text(stds[-1], 3)}


EXPLANATIONS = (
    Explanation(
        "gamma",
        "What does γ scale in layer normalisation?",
        "Each of the {features} features has its own scale γ and its own bias β: 2 × {features} "
        "= {count} parameters, shared by all positions. Mean and variance are computed per "
        "position, over its {features} features.",
        ("Ba et al. 2016",),
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
        ("Ba et al. 2016",),
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
        ("Zhang & Sennrich 2019",),
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
        ("He et al. 2016", "Vaswani et al. 2017"),
        _residual,
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
        ("Vaswani et al. 2017", "Geva et al. 2021"),
        _four_times,
        _NETWORKS,
        sections=("formulas", "parameters"),
    ),
    Explanation(
        "other-width",
        "Why is the feed-forward network {ratio} times as wide?",
        "The factor is a design choice: the 2017 Transformer used 4; this configuration has "
        "{inner} inner features for vectors of size {width}. Each of the {inner} can be read as "
        "a pattern to be matched, and what to add to a vector that matches it.",
        ("Vaswani et al. 2017", "Geva et al. 2021"),
        _other_width,
        _NETWORKS,
        sections=("formulas", "parameters"),
    ),
    Explanation(
        "gated-width",
        "Why is the feed-forward network {ratio} times as wide?",
        "A gated network has three matrices, a plain one two. With a factor of 8/3 = 2.67 "
        "instead of 4 both have the same number of parameters; this configuration has {inner} "
        "inner features for vectors of size {width}.",
        ("Shazeer 2020",),
        _gated,
        _NETWORKS,
        sections=("formulas", "parameters"),
    ),
    Explanation(
        "flat-lines",
        "Why are the lines so flat?",
        "The weights are random: all layers are drawn from the same distribution, and none has a "
        "particular role. Each ends in a norm whose γ is still 1 and whose β is still 0, which "
        "gives every vector mean 0 and standard deviation 1, whatever its input.",
        ("Ba et al. 2016",),
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
        ("Xiong et al. 2020",),
        _growing,
        views=("Layers", "Token"),
        sections=("statistics",),
        measured_text="Here the standard deviation of the layers’ outputs rises from {first} to "
        "{last}.",
        measured=_growing,
    ),
)
"""The questions about layers, the most asked first."""

"""Other ways to mix positions: latent and sparse attention, convolutions, recurrences, Fourier."""

import json
from functools import partial

from msgspec.structs import replace

from bertviewer.core.expressions.symbols import shape_text
from bertviewer.core.formulas.formula import ROTATION, TOKENS, Term, sized
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.norm import Norm
from bertviewer.core.formulas.steps.attention import Scores, scores_of
from bertviewer.core.formulas.steps.graph_analysis import chain_of, layer_before, projections
from bertviewer.core.formulas.steps.lines import match_of_steps
from bertviewer.core.formulas.steps.loops import fold_loop, loop_iterations
from bertviewer.core.formulas.template import Match, Template
from bertviewer.core.formulas.templates.heads import (
    Heads,
    Projection,
    Variant,
    layer_of,
    own_attentions,
    sparse_heads,
)
from bertviewer.core.formulas.templates.positions import pair_lines

_Q_A, _Q_B, _KV_A, _KV_B = '"Q,a"', '"Q,b"', '"KV,a"', '"KV,b"'
"""Indices of the two layers of queries, and of keys and values."""

_RANKS = ("q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")


def latent_attention(view: ModuleView) -> tuple[Heads, Variant] | None:
    """Return an attention whose keys and values are computed from a latent vector (DeepSeek).

    All heads share the rotated part of the keys.
    """
    graph, own = view.graph, own_attentions(view)
    if len(own) != 1 or "value" not in own[0].roles:
        return None
    # From the values back: the layer of keys and values, the norm of C, and the layer of C.
    up = graph.maker(chain_of(graph, own[0].roles["value"]).origin)
    down, norms = (None, ()) if up is None else layer_before(graph, up)
    letters = projections(graph)
    queries = [graph.by_id[node] for node, found in letters.items() if found == {"Q"}]
    users, turned, scores = graph.users(own[0]), graph.of("rotary"), scores_of(own[0])
    is_key = all(step and "K" in letters.get(step.node.id, ()) for step in (down, up))
    if not (norms and scores and scores.factor and turned and is_key and len(queries) == 1):
        return None
    found = [layer_of(view, step) for step in (down, up, queries[0], *users)]
    layers = [layer for layer in found if layer is not None]
    count, size = (own[0].node.details.get(name) for name in ("heads", "head_size"))
    if (
        [len(found), len(layers)] != [4, 4]
        or not isinstance(count, int)
        or not isinstance(size, int)
    ):
        return None
    below, above, query, output = layers
    value_size, rotated = own[0].node.shape[-1], below.outputs - above.inputs
    parts = (Projection(query), Projection(above), Projection(above))
    factor, norm = Scores(scores.factor), Norm.of(norms[0])
    heads = Heads(view, own[0], *parts, count, count, size, value_size, factor, output)
    content, operator = size - rotated, norm.operator
    first, index = layer_of(view, layer_before(graph, queries[0])[0]), "Q"
    states = compressed = sized("X", "S", below.inputs)
    if first is not None:
        compressed, index = f"{operator}({first.maths(states, _Q_A)})", _Q_B
    lines = (
        f"Q = {query.maths(compressed, index)}",
        f"[{sized('C', 'S', above.inputs)}, {sized('K^r', 'S', rotated)}] = "
        f"{below.maths(states, _KV_A)}",
        f"[{sized('K^c', 'S', count * content)}, {sized('V', 'S', count * value_size)}] = "
        f"{above.maths(f'{operator}(C)', _KV_B)}",
        f"{sized('Q_h', 'S', size)} = [Q_h^c, {ROTATION}(Q_h^r)], quad "
        f"{sized('K_h', 'S', size)} = [K_h^c, {ROTATION}(K^r)]",
    )
    terms = (
        *(first.terms("the layer that compresses for the queries", _Q_A) if first else ()),
        *query.terms("the query projection", index),
        *below.terms("the layer that compresses for keys and values", _KV_A),
        *above.terms("the projection to keys and values", _KV_B),
        *norm.terms,
        Term("C", "latent vectors of keys and values", f"[S, {above.inputs}]"),
        Term("K^r", "the part of all heads’ keys that is rotated", f"[S, {rotated}]"),
        Term("Q_h^c, K_h^c", "the parts of head h that are not rotated", f"[S, {content}]"),
        Term("Q_h^r", "the part of head h’s queries that is rotated", f"[S, {rotated}]"),
    )
    names = [step.path.rpartition(".")[2] for step in (queries[0], up) if step]
    values = {
        "manner": "Multi-head latent",
        "kind": "attention",
        "ending": "; keys and values come from one small vector per position",
        "where": None,
        "same_columns": None,
        "query": Projection(below),
        "content": content,
        "rotated_size": rotated,
        "cached": above.inputs + rotated,
        "whole": count * (size + value_size),
        "head_rows": content + value_size,
        "query_layer": names[0],
        "latent_layer": names[1],
        "sources": "DeepSeek-AI 2024 (DeepSeek-V2), section 2.1; rotation: Su et al. 2021, section "
        "3.2",
    }
    keys = (*(key for key in _RANKS if key in view.config), *view.keys("rotation"))
    pairs = pair_lines(turned[-1], rotated)
    return heads, Variant((), pairs, (), values, keys, projections=lines, layers=terms)


def sparse_attention(view: ModuleView) -> tuple[Heads, Variant] | None:
    """Return an attention to some positions, which the lines define by counts N."""
    heads = sparse_heads(view)
    if heads is None:
        return None
    variant = _blocks(view) or _windows(view)
    values = {"is_causal": False, "hidden": "padding", **variant.values}
    return heads, replace(variant, values=values, scores="{} + log N")


def _blocks(view: ModuleView) -> Variant | None:
    """Return attention to blocks of tokens (BigBird), which may be counted several times."""
    size, random = view.integer("block_size"), view.integer("num_random_blocks")
    if size is None or random is None:
        return None
    most = (5 + 2 * random) * size
    drawn = f" + {random} [b(j) = 0]" if random else ""
    blocks = "1 block" if random == 1 else f"{random} blocks"
    return Variant(
        last=(
            "N_(i j) = [b(j) in {0, b(i) - 1, b(i), b(i) + 1, n - 1}]"
            f"{drawn}, quad 0 < b(i) < n - 1",
            "N_(i j) = 1, quad b(i) in {0, n - 1}",
            f"b(i) = floor(i \\/ {size}), quad n = ceil(S \\/ {size}), quad S > {most}",
        ),
        terms=(
            Term("N_(i j)", "number of times that position i attends to position j"),
            Term("b(i)", f"block of position i; the block size is {size}"),
            Term("n", "number of blocks; the last one is filled up with padding"),
        ),
        values={
            "manner": "Block-sparse",
            "reach": "the first and last blocks of positions, its own block and the two adjacent "
            "ones,",
            "most": most,
            "drawn": blocks if random else None,
            "times": "one more time" if random == 1 else f"{random} more times",
            "sources": "Zaheer et al. 2020, section 2",
        },
        keys=view.keys("blocks"),
    )


def _windows(view: ModuleView) -> Variant:
    """Return attention to near tokens and a few global ones (Beltagy et al. 2020)."""
    side = view.integer("one_sided_attn_window_size") or 0
    return Variant(
        last=(f'N_(i j) = [abs(i - j) <= {side} "or" j in G], quad i in.not G',),
        terms=(
            Term("N_(i j)", "1 where position i attends to position j, 0 elsewhere"),
            Term("G", "global positions, chosen by the caller (global_attention_mask)"),
        ),
        values={
            "manner": "Sliding-window",
            "after": " with global positions",
            "reach": f"the {side} positions on each side of it, and to a few global positions,",
            "side": side,
            "positions": 2 * side + 1,
            "multiple": 2 * side,
            "global_layers": ", ".join(n for n in view.children if n.endswith("_global")),
            "sources": "Beltagy et al. 2020 (Longformer), section 3.1; Vaswani et al. 2017, "
            "section 3.2",
        },
        keys=tuple(key for key in ("attention_window",) if key in view.config),
    )


def _convolution(view: ModuleView) -> Match | None:
    """One convolution, with the stride, padding, dilation and groups of the call."""
    step = view.only("convolution")
    stored = [] if step is None else [o.parameter for o in step.operands if o.parameter]
    shape = next((view.parameter_shape(name) for name in stored if name.endswith("weight")), ())
    if step is None or step.node.path != view.node.path or len(shape) < 3:
        return None
    outputs, each_reads, *sizes = shape
    axes = len(sizes)
    plain = [each.plain for each in step.operands if each.plain and each.plain != "None"]
    try:
        stride, padding, dilation, (groups, *_) = (_of_axes(text, axes) for text in plain)
    except ValueError:  # padding as a word: "same"; a transposed convolution has more settings
        return None
    inputs = each_reads * groups
    is_depthwise = groups == inputs == outputs
    bias = ("b" if groups == 1 else "b_c") if len(stored) > 1 else ""
    inner, outer = "uvw"[:axes], "s" if axes == 1 else "ijk"[:axes]
    places = [
        f"{outer[i] if stride[i] == 1 else f'{stride[i]} {outer[i]}'} + "
        f"{inner[i] if dilation[i] == 1 else f'{dilation[i]} {inner[i]}'}"
        + (f" - {padding[i]}" if padding[i] else "")
        for i in range(axes)
    ]
    sums = " ".join(f"sum_({i}=0)^({size - 1})" for i, size in zip(inner, sizes, strict=True))
    # Indices of features in y, W and x.
    made, used, read = ("", ":, ", "") if groups == 1 else ("c, ", "c, ", "c, ")
    lines: tuple[str, ...] = ()
    if groups > 1 and not is_depthwise:
        read = "g(c), "
        if each_reads > 1:
            used, read = "c, d, ", f"{each_reads} g(c) + d, "
            sums = f"sum_(d=0)^({each_reads - 1}) {sums}"
        lines = (f"g(c) = floor(c \\/ {outputs // groups})",)
    product = f"W_({used}{', '.join(inner)}) x_({read}{', '.join(places)})"
    read_by_one = "in per group" if groups > 1 else "in"
    axis, each = ("position", "") if axes == 1 else ("place in the image", " of each axis")
    is_patch = axes > 1 and list(stride) == sizes and not any(padding)
    what = "image patch" if is_patch else "position and its neighbours" if axes == 1 else "window"
    return Match(
        maths=(
            f"y_({made}{', '.join(outer)}) = {sums} {product}{bias and f' + {bias}'}",
            *lines,
        ),
        terms=(
            Term("x", f"input, one vector for each {axis}; 0 outside of it", f"[{inputs}]"),
            Term("W", f"kernel, stored [out, {read_by_one}, kernel size{each}]", shape_text(shape)),
            *((Term(bias, "bias, one per output feature", f"[{outputs}]"),) if bias else ()),
            *((Term("g(c)", "group of output feature c", f"{groups} groups"),) if lines else ()),
            Term("y", f"output, one vector for each {axis}", f"[{outputs}]"),
        ),
        values={
            "axes": axes,
            "outputs": outputs,
            "what": what,
            "pixels": " × ".join(map(str, sizes)) if is_patch else None,
            "stride": max(stride) if max(stride) > 1 and not is_patch else None,
            "depthwise": is_depthwise,
            "groups": groups if groups > 1 and not is_depthwise else None,
            "bias": bias,
        },
    )


def _of_axes(text: str, axes: int) -> list[int]:
    """Return a setting for each axis."""
    value = json.loads(text)
    value = value if isinstance(value, list) else [value]
    return value * axes if len(value) == 1 else value


CONVOLUTION = Template(
    "convolution",
    _convolution,
    title="{axes}D convolution",
    summary="Computes {outputs} features from each {what}, with the same weights everywhere.",
    notes=(
        "The stride equals the kernel size, so the patches do not overlap: this is one linear "
        "layer applied to each patch of {pixels} pixels.",
        "The stride is {stride}: the output has about 1/{stride} of the input’s positions along "
        "each axis.",
        "{depthwise?} Depthwise: every feature is convolved with its own kernel; features are not "
        "mixed.",
        "The features are divided into {groups} groups; each output feature reads one group only.",
        "{not bias?} This layer has no bias.",
    ),
    keys=("groups of features",),
    source="LeCun et al. 1989; torch.nn.Conv{axes}d",
)


def _fourier(view: ModuleView) -> Match | None:
    """FNet's mixing: a Fourier transform over both axes."""
    step = view.only("fft", "fft2", "fftn")
    if step is None or view.tensors:
        return None
    width = view.width_of(step)
    return Match(
        maths=(
            f'{sized("Y", "S", width)} = op("Re")(F_S X F_D)',
            "(F_n)_(j, k) = e^(-2 pi i j k \\/ n)",
        ),
        terms=(
            TOKENS,
            Term("X", "input, one row per position", f"[S, {width}]"),
            Term("F_S", "discrete Fourier transform over the positions", "[S, S]"),
            Term("F_D", "discrete Fourier transform over the features", f"[{width}, {width}]"),
            Term('op("Re")', "real part; the imaginary part is discarded"),
        ),
    )


def _recurrence(known: tuple[set[str], ...], view: ModuleView) -> Match | None:
    """A loop over positions with all operations and activations of one of these sets."""
    graph = view.graph
    if not loop_iterations(fold_loop(graph)):
        return None
    names = {step.operation for step in graph.steps}
    names |= {str(step.node.details.get("activation")) for step in graph.steps}
    return match_of_steps(view) if any(each <= names for each in known) else None


_SSM = ({"convolution", "softplus", "exp"},)
_WKV = ({"exp", "max", "div"}, {"exp", "maximum", "div"})
_COST = (
    "A recurrence has a state of fixed size: each position costs the same, and a longer sequence "
    "needs no larger memory. Attention compares each position with all visible ones instead."
)
MIXING = (
    Template(
        "Fourier mixing",
        _fourier,
        title="Fourier mixing",
        summary="Mixes all positions and all features with a fixed Fourier transform, in place of "
        "attention.",
        notes=(
            "Every output depends on every position and feature, with fixed weights: nothing is "
            "learnt here. The feed-forward networks learn to use the mixture.",
            "It has no parameters, and a fast Fourier transform needs S log S steps where "
            "attention needs S².",
            "Unlike attention, the mixture does not depend on the content, and padding is mixed in "
            "like any other token.",
        ),
        source="Lee-Thorp et al. 2022, section 3.2",
    ),
    Template(
        "recurrence",
        partial(_recurrence, _SSM),
        title="Selective state-space mixer",
        summary="Mixes positions with a recurrence whose state decays and is written to as the "
        "input decides; a gate scales the result.",
        notes=(
            "The input is projected to two parts: one goes through a short convolution and the "
            "recurrence, the other, after SiLU, gates the result.",
            "The convolution reads the current and a few preceding positions, before the "
            "recurrence carries information over longer distances.",
            "Selective: the step size (softplus of a projection of the input) determines how much "
            "of the state is kept and how much of the current position is written. Δ near 0 "
            "ignores the position; a large Δ resets the state to it.",
            "A is stored as log(−A), so that e^(ΔA) is between 0 and 1 and the state cannot grow "
            "without bound.",
            _COST,
            "{steps}",
        ),
        source="Gu & Dao 2023, section 3",
    ),
    Template(
        "recurrence",
        partial(_recurrence, _WKV),
        title="Recurrent weighted mean (WKV)",
        summary="Each position forms a weighted mean of the values of all preceding positions; the "
        "weights decay with the distance, and the sum is carried along as a state.",
        notes=(
            "Each position’s weight is e to the power of its key, minus a learnt decay for each "
            "position in between; every feature has a decay of its own. The current position has a "
            "separate bonus.",
            "Numerator and denominator are both carried along. The largest exponent so far is "
            "subtracted from all exponents, so that no power overflows; this does not change the "
            "quotient.",
            _COST,
            "{steps}",
        ),
        source="Peng et al. 2023, section 3.1",
    ),
    Template(
        "recurrence",
        partial(_recurrence, (set(),)),
        title="Recurrence over positions",
        summary="Processes positions one after another; each step reads the state that the one "
        "before left.",
        notes=(_COST, "{steps}"),
        source="the code of the module",
    ),
)

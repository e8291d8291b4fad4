"""Attention to some positions only: blocks (BigBird), and a window with global tokens (Longformer).

Their code multiplies blocks and bands, which no graph of single steps makes readable. They are
recognised by the numbers that set the pattern, and by the layers of queries, keys and values.
"""

from bertviewer.core.architecture.flow import Node
from bertviewer.core.formulas.formula import Term
from bertviewer.core.formulas.graph import Step
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.steps.origins import ROLES
from bertviewer.core.formulas.templates.attention_maths import (
    output_lines,
    projection_lines,
    score_lines,
)
from bertviewer.core.formulas.templates.attention_texts import NOTES, attention_terms, values_of
from bertviewer.core.formulas.templates.heads import Heads, Part
from bertviewer.core.formulas.templates.scores import Scores
from bertviewer.core.formulas.templates.template import Match, Template, Values

_BRACKET = (
    "A bracket is 1 where its condition is true and 0 elsewhere; the logarithm of 0 masks a "
    "position."
)
_KEYS = (
    *("width", "heads", "key/value heads", "head size", "attention dropout", "decoder", "scale"),
    "blocks",
)


def sparse_heads(view: ModuleView) -> Heads | None:
    """Return the heads of a sparse attention, ``None`` for any other module."""
    if _blocks(view) is None and _side(view) is None:
        return None
    path = f"{view.node.path}." if view.node.path else ""
    layers = {role: view.affine(f"{path}{role}") for role in ROLES}
    parts = {role: Part(layer, "", role) for role, layer in layers.items() if layer}
    count = view.integer("num_attention_heads", "num_heads", "n_heads")
    if len(parts) < len(ROLES) or not count:
        return None
    size = parts["query"].outputs // count
    step = Step(Node(view.node.path, "group", "attention"), (), {})
    return Heads(view, step, parts, count, count, size, size, Scores(size**-0.5))


def _blocks(view: ModuleView) -> tuple[int, int] | None:
    """Return the size of blocks and how many are drawn at random."""
    size, random = view.integer("block_size"), view.integer("num_random_blocks")
    return None if size is None or random is None else (size, random)


def _side(view: ModuleView) -> int | None:
    """Return how many positions a window has on each side."""
    return view.integer("one_sided_attn_window_size")


def _match(
    heads: Heads, lines: tuple[str, ...], terms: tuple[Term, ...], values: Values, *keys: str
) -> Match:
    """Return an attention to the positions that N counts, as the last lines define it."""
    lines = (
        *(*projection_lines(heads), *score_lines(heads, " + log N"), *output_lines(heads)),
        *lines,
    )
    values = values_of(heads, {}) | {"is_causal": False, "hidden": "padding"} | {**values}
    return Match(lines, (*attention_terms(heads, (), lines, values), *terms), values, keys)


def _in_blocks(view: ModuleView) -> Match | None:
    """A token attends to a few blocks of tokens; one that is named n times counts n times."""
    heads, blocks = sparse_heads(view), _blocks(view)
    if heads is None or blocks is None:
        return None
    size, random = blocks
    most = (5 + 2 * random) * size
    drawn = f" + {random} [b(j) = 0]" if random else ""
    lines = (
        f"N_(i j) = [b(j) in {{0, b(i) - 1, b(i), b(i) + 1, n - 1}}]{drawn}, quad 0 < b(i) < n - 1",
        "N_(i j) = 1, quad b(i) in {0, n - 1}",
        f"b(i) = floor(i \\/ {size}), quad n = ceil(S \\/ {size}), quad S > {most}",
    )
    terms = (
        Term("N_(i j)", "number of times that position i attends to position j"),
        Term("b(i)", f"block of position i; the block size is {size}"),
        Term("n", "number of blocks; the last one is filled up with padding"),
    )
    values = {
        "most": most,
        "drawn": {0: None, 1: "1 block"}.get(random, f"{random} blocks"),
        "times": "one more time" if random == 1 else f"{random} more times",
    }
    return _match(heads, lines, terms, values)


def _in_windows(view: ModuleView) -> Match | None:
    heads, side = sparse_heads(view), _side(view)
    if heads is None or side is None:
        return None
    lines = (f'N_(i j) = [abs(i - j) <= {side} "or" j in G], quad i in.not G',)
    terms = (
        Term("N_(i j)", "1 where position i attends to position j, 0 elsewhere"),
        Term("G", "global positions, chosen by the caller (global_attention_mask)"),
    )
    values = {
        "side": side,
        "positions": 2 * side + 1,
        "multiple": 2 * side,
        "layers": ", ".join(name for name in view.children if name.endswith("_global")),
    }
    keys = [key for key in ("attention_window",) if key in view.config]
    return _match(heads, lines, terms, values, *keys)


SPARSE = (
    Template(
        "self-attention",
        _in_blocks,
        title="Block-sparse self-attention",
        summary="Every position attends to the first and last blocks of positions, its own block "
        "and the two adjacent ones, and forms a weighted mean of their values, {in_heads}.",
        notes=(
            "A sequence of {most} positions or fewer has too few blocks: every position then "
            "attends to all others, with the same parameters.",
            _BRACKET,
            "During training, each block also attends to {drawn} drawn at random. At inference, "
            "transformers draws none and attends to block 0 instead, whose positions count "
            "{times}.",
            *NOTES,
        ),
        keys=_KEYS,
        source="Zaheer et al. 2020, section 2",
    ),
    Template(
        "self-attention",
        _in_windows,
        title="Sliding-window self-attention with global positions",
        summary="Every position attends to the {side} positions on each side of it, and to a few "
        "global positions, and forms a weighted mean of their values, {in_heads}.",
        notes=(
            "The window has {positions} positions, so the cost grows linearly with the number of "
            "tokens, not with its square. The model pads the sequence to a multiple of {multiple}.",
            "Over several layers, information travels farther: each layer extends the reach by "
            "{side} positions on each side.",
            "A global position attends to all positions, and all attend to it. Its own row is "
            "computed with separate layers ({layers}). Without global positions, only the windows "
            "remain.",
            _BRACKET,
            *NOTES,
        ),
        keys=_KEYS[:-1],
        source="Beltagy et al. 2020 (Longformer), section 3.1; Vaswani et al. 2017, section 3.2",
    ),
)
"""Attention to blocks and to windows."""

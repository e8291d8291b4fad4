"""Attention to some positions only: blocks (BigBird), and a window with global tokens (Longformer).

Their code multiplies blocks and bands, which no graph of single steps makes readable. They are
recognised by the numbers that set the pattern, and by the layers of queries, keys and values.
"""

from dataclasses import replace

from bertviewer.core.architecture.flow import Node
from bertviewer.core.architecture.operand import Operand
from bertviewer.core.formulas.formula import Formula, Term
from bertviewer.core.formulas.graph import Step
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.templates.heads import Heads
from bertviewer.core.formulas.templates.projections import Part
from bertviewer.core.formulas.templates.scores import Scores
from bertviewer.core.text.numerals import count_text

_BRACKET = (
    "A bracket is 1 where its condition is true and 0 elsewhere; the logarithm of 0 masks a "
    "position."
)


def sparse_heads(view: ModuleView) -> Heads | None:
    """Return the heads of a sparse attention, ``None`` for any other module."""
    if _blocks(view) is None and _side(view) is None:
        return None
    path = f"{view.node.path}." if view.node.path else ""
    layers = [view.affine(f"{path}{name}") for name in ("query", "key", "value")]
    count = view.integer("num_attention_heads", "num_heads", "n_heads")
    query, key, value = layers
    if query is None or key is None or value is None or not count:
        return None
    roles = dict(zip(("query", "key", "value"), (query, key, value), strict=True))
    parts = {role: Part(layer, "", role, ("", 0), ()) for role, layer in roles.items()}
    size = query.outputs // count
    step = Step(Node(view.node.path, "group", "attention"), (Operand(),), {})
    return Heads(
        *(view, step, parts, count, count, size, size, None, "", None, False),
        is_causal=False,
        is_text=True,
        is_masked=True,
        scores=Scores(size**-0.5, ()),
        rotation=None,
    )


def sparse_formula(heads: Heads, formula: Formula) -> Formula:
    """Return the formula of an attention to the positions that N counts."""
    blocks, side = _blocks(heads.view), _side(heads.view)
    if blocks is not None:
        return _block_formula(heads, formula, *blocks)
    assert side is not None
    return _window_formula(heads, formula, side)


def _blocks(view: ModuleView) -> tuple[int, int] | None:
    """Return the size of blocks and how many are drawn at random."""
    size, random = view.integer("block_size"), view.integer("num_random_blocks")
    return None if size is None or random is None else (size, random)


def _side(view: ModuleView) -> int | None:
    """Return how many positions a window has on each side."""
    return view.integer("one_sided_attn_window_size")


def _block_formula(heads: Heads, formula: Formula, size: int, random: int) -> Formula:
    """A token attends to a few blocks of tokens; one that is named n times counts n times."""
    most = (5 + 2 * random) * size
    drawn = f" + {random} [b(j) = 0]" if random else ""
    return replace(
        formula,
        title="Block-sparse self-attention",
        summary="Every position attends to the first and last blocks of positions, its own block "
        "and the two adjacent ones, and forms a weighted mean of their values, "
        f"{count_text(heads.count, 'in one head', 'in {0} heads in parallel')}.",
        maths=(
            *formula.maths,
            f"N_(i j) = [b(j) in {{0, b(i) - 1, b(i), b(i) + 1, n - 1}}]{drawn}, quad "
            "0 < b(i) < n - 1",
            "N_(i j) = 1, quad b(i) in {0, n - 1}",
            f"b(i) = floor(i \\/ {size}), quad n = ceil(S \\/ {size}), quad S > {most}",
        ),
        terms=(
            *formula.terms,
            Term("N_(i j)", "number of times that position i attends to position j"),
            Term("b(i)", f"block of position i; the block size is {size}"),
            Term("n", "number of blocks; the last one is filled up with padding"),
        ),
        notes=(
            f"A sequence of {most} positions or fewer has too few blocks: every position then "
            "attends to all others, with the same parameters.",
            _BRACKET,
            *_drawn_notes(random),
            *formula.notes,
        ),
        config_keys=(*formula.config_keys, *heads.view.keys("blocks")),
        source="Zaheer et al. 2020, section 2",
    )


def _drawn_notes(random: int) -> tuple[str, ...]:
    if not random:
        return ()
    blocks, times = (
        ("1 block", "one more time")
        if random == 1
        else (f"{random} blocks", f"{random} more times")
    )
    return (
        f"During training, each block also attends to {blocks} drawn at random. At inference, "
        f"transformers draws none and attends to block 0 instead, whose positions count {times}.",
    )


def _window_formula(heads: Heads, formula: Formula, side: int) -> Formula:
    """Longformer's windows with global positions (Beltagy et al. 2020, section 3.1)."""
    view = heads.view
    names = [name for name in view.children if name.endswith("_global")]
    count = count_text(heads.count, "in one head", "in {0} heads in parallel")
    window = [key for key in ("attention_window",) if key in view.config]
    pads = 2 * side
    return replace(
        formula,
        title="Sliding-window self-attention with global positions",
        summary=f"Every position attends to the {side} positions on each side of it, and to a few "
        f"global positions, and forms a weighted mean of their values, {count}.",
        maths=(
            *formula.maths,
            f'N_(i j) = [abs(i - j) <= {side} "or" j in G], quad i in.not G',
        ),
        terms=(
            *formula.terms,
            Term("N_(i j)", "1 where position i attends to position j, 0 elsewhere"),
            Term("G", "global positions, chosen by the caller (global_attention_mask)"),
        ),
        notes=(
            f"The window has {2 * side + 1} positions, so the cost grows linearly with the number "
            f"of tokens, not with its square. The model pads the sequence to a multiple of {pads}.",
            "Over several layers, information travels farther: each layer extends the reach by "
            f"{side} positions on each side.",
            *(
                (
                    "A global position attends to all positions, and all attend to it. Its own row "
                    f"is computed with separate layers ({', '.join(names)}). Without global "
                    "positions, only the windows remain.",
                )
                if names
                else ()
            ),
            _BRACKET,
            *formula.notes,
        ),
        config_keys=(*formula.config_keys, *window),
        source="Beltagy et al. 2020 (Longformer), section 3.1; Vaswani et al. 2017, section 3.2",
    )

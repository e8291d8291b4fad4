"""BigBird: attention to some blocks of a long sequence (Zaheer et al. 2020, section 2)."""

from dataclasses import replace

from bertviewer.core.families.layer import Halves
from bertviewer.core.formulas.attention import described, separate
from bertviewer.core.formulas.blocks import activation_terms
from bertviewer.core.formulas.formula import Formula, Term
from bertviewer.core.formulas.layers import halved_network
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.norms import norm_of
from bertviewer.core.formulas.notation import TOKENS, sized

_SOURCE = "Zaheer et al. 2020, section 2"


def block_sparse_attention(view: ModuleView) -> Formula:
    """A token looks at a few blocks of tokens; one that is named n times counts n times."""
    size, random = (view.integer(name) for name in ("block_size", "num_random_blocks"))
    if size is None or random is None:
        raise LookupError("attention without blocks")
    heads = replace(separate(view, ("query", "key", "value"), None), added="log N")
    found = described(view, heads, _SOURCE)
    most = (5 + 2 * random) * size
    drawn = f" + {random} [b(j) = 0]" if random else ""
    return replace(
        found,
        title="Block-sparse self-attention",
        summary="Every position attends to the first and last blocks of positions, its own block "
        "and the two adjacent ones, and forms a weighted mean of their values, "
        f"{heads.parallel}.",
        maths=(
            *found.maths,
            f"N_(i j) = [b(j) in {{0, b(i) - 1, b(i), b(i) + 1, n - 1}}]{drawn}, quad "
            "0 < b(i) < n - 1",
            "N_(i j) = 1, quad b(i) in {0, n - 1}",
            f"b(i) = floor(i \\/ {size}), quad n = ceil(S \\/ {size}), quad S > {most}",
        ),
        terms=(
            *found.terms,
            Term("N_(i j)", "number of times that position i attends to position j"),
            Term("b(i)", f"block of position i; the block size is {size}"),
            Term("n", "number of blocks; the last one is filled up with padding"),
        ),
        notes=(
            f"A sequence of {most} positions or fewer has too few blocks: every position then "
            "attends to all others, with the same parameters.",
            "A bracket is 1 where its condition is true and 0 elsewhere; the logarithm of 0 masks "
            "a position.",
            *_drawn_notes(random),
            *found.notes,
        ),
        config_keys=(*found.config_keys, *view.keys("blocks")),
    )


def answer_head(view: ModuleView) -> Formula:
    """A feed-forward network with add & norm before the scores of start and end (their code)."""
    network = halved_network(view, Halves("intermediate", "output"))
    norm = norm_of(view.below("output"), "LayerNorm")
    layer = view.affine("qa_outputs")
    inner = network.maths(sized("X", "S", network.first.inputs))
    scores = layer.maths(sized("T", "S", layer.inputs))
    return Formula(
        title="Question answering head",
        summary="Scores every token as the start and as the end of the answer.",
        maths=(
            f"T = {norm.operator}(X + {inner})",
            f"{sized('Z', 'S', layer.outputs)} = {scores}",
        ),
        terms=(
            TOKENS,
            Term("X", "last hidden state", f"[S, {network.first.inputs}]"),
            *network.first.terms("the first linear layer", "1"),
            *network.second.terms("the second linear layer", "2"),
            *activation_terms(network.act),
            *norm.terms,
            *layer.terms("the span head"),
            Term("Z", "logits", f"[S, {layer.outputs}]"),
        ),
        notes=("Column 0 of Z scores the start of the answer, column 1 its end.",),
        config_keys=view.keys("width", "feed-forward", "activation", "epsilon", "labels"),
        source="Devlin et al. 2019, section 4.2; the network as in transformers’ code",
    )


def question_answering(view: ModuleView) -> Formula:
    """Where an answer starts and ends; the question is out of the race (transformers' code)."""
    width = view.width
    return Formula(
        title="Question answering model",
        summary="Scores every token as the start and as the end of the answer.",
        maths=(
            f'{sized("X", "S", width)} = "Base"({sized("t", "S")}), quad Z = "Head"(X)',
            'z_"start" = Z_(:, 0) - 10^6 q, quad z_"end" = Z_(:, 1) - 10^6 q',
        ),
        terms=(
            TOKENS,
            Term("t", "token ids", "[S]"),
            Term("X", "last hidden state of the base model, one row per position"),
            Term("Z", "start and end scores", "[S, 2]"),
            Term("q", "1 for the question’s tokens, 0 for the first token and for the text"),
        ),
        notes=(
            "The question is everything up to and including the first separator. The first token "
            "remains a candidate: it represents “no answer”.",
        ),
        config_keys=view.keys("width", "labels"),
        source="Devlin et al. 2019, section 4.2; q as in transformers’ code",
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

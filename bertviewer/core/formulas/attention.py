"""Self-attention and cross-attention: reads the forms in which models store them."""

from dataclasses import replace

from bertviewer.core.formulas.attention_maths import Heads, attention_formula
from bertviewer.core.formulas.attention_notes import attention_notes
from bertviewer.core.formulas.formula import Formula
from bertviewer.core.formulas.notation import Affine
from bertviewer.core.formulas.subject import Subject
from bertviewer.core.text.numerals import count_text

PAPER = "Vaswani et al. 2017, sections 3.2.1 and 3.2.2"


def bert_attention(subject: Subject) -> Formula:
    """BERT's self-attention, without the output projection (Vaswani et al. 2017, section 3.2)."""
    return _formula(subject, separate(subject, ("query", "key", "value"), None))


def projected_attention(subject: Subject) -> Formula:
    """DistilBERT's: the same with the output projection (Vaswani et al. 2017, section 3.2.2)."""
    return _formula(subject, separate(subject, ("q_lin", "k_lin", "v_lin"), "out_lin"))


def albert_attention(subject: Subject) -> Formula:
    """ALBERT's: projection, residual and layer norm are in the same module."""
    heads = replace(separate(subject, ("query", "key", "value"), "dense"), normed=True)
    return _formula(subject, heads, f"{PAPER}; Lan et al. 2020 and their code")


def bart_attention(subject: Subject) -> Formula:
    """BART's: the same module looks at the sequence itself or at the encoder's output."""
    heads = separate(subject, ("q_proj", "k_proj", "v_proj"), "out_proj")
    cross = subject.node.name == "encoder_attn"
    # A decoder's cross-attention calls itself a decoder's as well, but sees all of the source.
    return _formula(subject, replace(heads, cross=cross, causal=heads.causal and not cross))


def gpt2_attention(subject: Subject) -> Formula:
    """GPT-2's: one Conv1D makes queries, keys and values; later tokens are masked."""
    stored = subject.affine("c_attn")
    cross = "q_attn" in subject.children
    width = stored.inputs
    part = Affine((width, width), stored.bias, transposed=False)
    count, size = head_counts(subject, width)
    parts = "key, value" if cross else "query, key, value"
    heads = Heads(
        query=subject.affine("q_attn") if cross else part,
        key=part,
        value=part,
        count=count,
        size=size,
        where=f"c_attn.weight holds {parts} side by side, {width} columns each. Within each, "
        f"columns {size}h to {size}h+{size - 1} are head h, so the first head has columns 0 to "
        f"{size - 1}.",
        output=subject.affine("c_proj"),
        causal=not cross,
        cross=cross,
        scale=scale_of(subject, size),
    )
    return _formula(subject, heads)


def torch_attention(subject: Subject) -> Formula:
    """torch.nn.MultiheadAttention: the three weights are stacked in ``in_proj_weight``."""
    output = subject.affine("out_proj")
    bias = subject.shape("in_proj_bias") is not None
    width = output.outputs
    stacked = subject.shape("in_proj_weight") is not None
    key, value = (subject.shape(f"{letter}_proj_weight") or (width, width) for letter in ("k", "v"))
    count, size = head_counts(subject, width)
    held = (
        f"The tensor in_proj_weight stacks the weights of query, key and value, {width} rows each"
        if stacked
        else "The weights of query, key and value are tensors of their own"
    )
    heads = Heads(
        query=Affine((width, width), bias),
        key=Affine(key, bias),
        value=Affine(value, bias),
        count=count,
        size=size,
        where=f"{held}. Within each, rows {size}h to {size}h+{size - 1} are "
        f"head h, so the first head has rows 0 to {size - 1}.",
        output=output,
        # The decoder layer's second attention looks at the encoder's output.
        cross=subject.node.name == "multihead_attn",
        masked_by_caller=True,
    )
    return _formula(subject, heads)


def separate(subject: Subject, names: tuple[str, str, str], output: str | None) -> Heads:
    """Read an attention module that has one linear layer for each of query, key and value."""
    query, key, value = (subject.affine(name) for name in names)
    count, size = head_counts(subject, query.outputs)
    return Heads(
        query=query,
        key=key,
        value=value,
        count=count,
        size=size,
        where=count_text(
            count,
            "The only head has all rows of W_Q, W_K and W_V.",
            f"All {{0}} heads lie stacked in the same three weights: rows {size}h to "
            f"{size}h+{size - 1} of W_Q, W_K and W_V are head h, so the first head has rows 0 to "
            f"{size - 1}.",
        ),
        output=None if output is None else subject.affine(output),
        causal=not subject.is_cross
        and bool(subject.attribute("is_causal") or subject.attribute("is_decoder")),
        cross=subject.is_cross,
        scale=scale_of(subject, size),
    )


def head_counts(subject: Subject, width: int) -> tuple[int, int]:
    """Return the number of heads and each head's size."""
    count = subject.integer("num_attention_heads", "num_heads", "n_heads")
    if count is None:
        key = next(iter(subject.keys("heads")), None)
        count = int(subject.config[key]) if key else 1
    return count, width // count


def scale_of(subject: Subject, size: int) -> float | None:
    """Return the factor on the scores, ``None`` where it is the usual 1 / sqrt(d_k)."""
    value = subject.attribute("scaling")
    if not isinstance(value, float) or abs(value - size**-0.5) < 1e-9:
        return None
    return value


def _formula(subject: Subject, heads: Heads, source: str = PAPER) -> Formula:
    return attention_formula(subject, heads, attention_notes(heads), source)

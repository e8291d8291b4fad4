"""Self-attention and cross-attention: reads the forms in which models store them."""

from dataclasses import replace

from bertviewer.core.analysis.causality import is_causal
from bertviewer.core.formulas.attention_maths import Heads, attention_formula
from bertviewer.core.formulas.attention_notes import attention_notes
from bertviewer.core.formulas.formula import Formula
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.norms import norm_of
from bertviewer.core.formulas.notation import Affine
from bertviewer.core.text.numerals import count_text

PAPER = "Vaswani et al. 2017, sections 3.2.1 and 3.2.2"


def bert_attention(view: ModuleView) -> Formula:
    """BERT's self-attention, without the output projection (Vaswani et al. 2017, section 3.2)."""
    return described(view, separate(view, ("query", "key", "value"), None))


def projected_attention(view: ModuleView) -> Formula:
    """DistilBERT's: the same with the output projection (Vaswani et al. 2017, section 3.2.2)."""
    return described(view, separate(view, ("q_lin", "k_lin", "v_lin"), "out_lin"))


def albert_attention(view: ModuleView) -> Formula:
    """ALBERT's: projection, residual and layer norm are in the same module."""
    heads = separate(view, ("query", "key", "value"), "dense")
    heads = replace(heads, norm=norm_of(view, "LayerNorm"))
    return described(view, heads, f"{PAPER}; Lan et al. 2020 and their code")


def bart_attention(view: ModuleView) -> Formula:
    """BART's: the same module looks at the sequence itself or at the encoder's output."""
    heads = separate(view, ("q_proj", "k_proj", "v_proj"), "out_proj")
    cross = view.node.name == "encoder_attn"
    return described(view, replace(heads, cross=cross))


def gpt2_attention(view: ModuleView) -> Formula:
    """GPT-2's: one Conv1D makes queries, keys and values; later tokens are masked."""
    stored = view.affine("c_attn")
    cross = "q_attn" in view.children
    width = stored.inputs
    part = Affine((width, width), stored.bias, transposed=False)
    count, size = head_counts(view, width)
    parts = "key and value" if cross else "query, key and value"
    heads = Heads(
        query=view.affine("q_attn") if cross else part,
        key=part,
        value=part,
        count=count,
        size=size,
        where=f"c_attn.weight holds the weights of {parts} side by side, {width} columns each. "
        f"Within each, head h has columns {size}h to {size}h+{size - 1}, so the first head "
        f"has columns 0 to {size - 1}.",
        output=view.affine("c_proj"),
        cross=cross,
        scale=scale_of(view, size),
    )
    return described(view, heads)


def torch_attention(view: ModuleView) -> Formula:
    """torch.nn.MultiheadAttention: the three weights are stacked in ``in_proj_weight``."""
    output = view.affine("out_proj")
    bias = view.shape("in_proj_bias") is not None
    width = output.outputs
    stacked = view.shape("in_proj_weight") is not None
    key, value = (view.shape(f"{letter}_proj_weight") or (width, width) for letter in ("k", "v"))
    count, size = head_counts(view, width)
    held = (
        f"The tensor in_proj_weight stacks the weights of query, key and value, {width} rows each"
        if stacked
        else "The weights of query, key and value are separate tensors"
    )
    heads = Heads(
        query=Affine((width, width), bias),
        key=Affine(key, bias),
        value=Affine(value, bias),
        count=count,
        size=size,
        where=f"{held}. Within each, head h has rows {size}h to {size}h+{size - 1}, so the first "
        f"head has rows 0 to {size - 1}.",
        output=output,
        # The decoder layer's second attention looks at the encoder's output.
        cross=view.node.name == "multihead_attn",
        masked_by_caller=True,
    )
    return described(view, heads)


def separate(view: ModuleView, names: tuple[str, str, str], output: str | None) -> Heads:
    """Read an attention module that has one linear layer for each of query, key and value."""
    query, key, value = (view.affine(name) for name in names)
    count, size = head_counts(view, query.outputs)
    return Heads(
        query=query,
        key=key,
        value=value,
        count=count,
        size=size,
        where=count_text(
            count,
            "The single head uses all rows of W_Q, W_K and W_V.",
            f"All {{0}} heads are stacked in the same three weights: head h has rows {size}h to "
            f"{size}h+{size - 1} of W_Q, W_K and W_V, so the first head has rows 0 to {size - 1}.",
        ),
        output=None if output is None else view.affine(output),
        cross=view.is_cross,
        scale=scale_of(view, size),
    )


def head_counts(view: ModuleView, width: int) -> tuple[int, int]:
    """Return the number of heads and each head's size."""
    count = view.integer("num_attention_heads", "num_heads", "n_heads")
    if count is None:
        key = next(iter(view.keys("heads")), None)
        count = int(view.config[key]) if key else 1
    return count, width // count


def scale_of(view: ModuleView, size: int) -> float | None:
    """Return the factor on the scores, ``None`` where it is the usual 1 / sqrt(d_k)."""
    value = view.attribute("scaling")
    if not isinstance(value, float) or abs(value - size**-0.5) < 1e-9:
        return None
    return value


def described(view: ModuleView, heads: Heads, source: str = PAPER) -> Formula:
    """Return the formula of an attention that is made of these."""
    heads = replace(
        heads, causal=False if heads.cross else is_causal(view.architecture, view.node.path)
    )
    return attention_formula(view, heads, attention_notes(heads), source)

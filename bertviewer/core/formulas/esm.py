"""ESM: a BERT for proteins whose norms stand before the sub-layers (Rives et al. 2021)."""

from dataclasses import replace

from bertviewer.core.expressions.shape_text import shape_text
from bertviewer.core.formulas import heads
from bertviewer.core.formulas.base_models import base_model
from bertviewer.core.formulas.blocks import DROPOUT, RESIDUAL
from bertviewer.core.formulas.formula import Formula, Term
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.norms import norm_of
from bertviewer.core.formulas.notation import TOKENS, indices, sized

_WORD, _PLACE = 'W_"word"', 'W_"pos"'
_SOURCE = "Rives et al. 2021; Lin et al. 2023"


def embeddings(view: ModuleView) -> Formula:
    """Words, made up for masked ones, and positions where they are learnt (published code)."""
    words = view.tensors["word_embeddings.weight"].shape
    vector = f"{sized(_WORD, *words)}[t_s]"
    terms = [
        Term("t_s", "token id at position s"),
        Term(_WORD, "one row per vocabulary entry", shape_text(words)),
    ]
    notes = ["Padding tokens give rows of zeros."]
    drops = view.attribute("token_dropout") is True
    if drops:
        vector = f"m_s (1 - 0.15 dot 0.8) / (1 - r) thick {vector}"
        terms += [
            Term("m_s", "0 at mask tokens, 1 elsewhere"),
            Term("r", "fraction of mask tokens"),
        ]
        notes.append(
            "A masked token gives a row of zeros. In training, 15% of the tokens were chosen and "
            "80% of those masked, which made the sums smaller; the factor compensates for this."
        )
    offset = view.integer("padding_idx")
    places = view.shape("position_embeddings.weight")
    shift = ""
    if places and offset is not None:
        vector += f" + {sized(_PLACE, *places)}[p_s]"
        shift = f", quad p_s = s + {offset + 1}"
        terms.append(Term(_PLACE, "one row per position", shape_text(places)))
        notes.append(f"Positions are counted from {offset + 1}, the row after the padding row.")
    lines = [f"{sized('e_s', words[1])} = {vector}{shift}"]
    if "layer_norm" in view.children:
        norm = norm_of(view, "layer_norm")
        lines.append(f"{sized('y_s', words[1])} = {norm.operator}(e_s)")
        terms += norm.terms
    return Formula(
        title="Embeddings",
        summary="Maps token ids to vectors: looks up one vector each for the token and its "
        "position and adds them."
        if places
        else "Maps token ids to vectors: looks up a vector for each token.",
        maths=tuple(lines),
        terms=tuple(terms),
        notes=tuple(notes),
        config_keys=view.keys("vocabulary", "width", "positions", "padding"),
        source=_SOURCE,
    )


def add(view: ModuleView) -> Formula:
    """A linear layer and the residual: the norm stands before the sub-layer."""
    dense = view.affine("dense")
    inner = dense.maths(sized("Z", "S", dense.inputs))
    return Formula(
        title="Projection and residual",
        summary=f"Projects each vector to {dense.outputs} features and adds the sub-layer’s input "
        "(the residual).",
        maths=(f"{sized('Y', 'S', dense.outputs)} = {inner} + {sized('R', 'S', dense.outputs)}",),
        terms=(
            TOKENS,
            Term("Z", "output of the preceding part", f"[S, {dense.inputs}]"),
            Term("R", "residual: the input of the sub-layer, not normalised"),
            *dense.terms("the projection"),
        ),
        notes=(RESIDUAL, DROPOUT),
        config_keys=view.keys("width", "dropout"),
        source=_SOURCE,
    )


def attention_block(view: ModuleView) -> Formula:
    """Norm, attention, projection and residual (Rives et al. 2021)."""
    norm, dense = norm_of(view, "LayerNorm"), view.below("output").affine("dense")
    name = '"CrossAttention"' if view.is_cross else '"SelfAttention"'
    more = ', X_"enc"' if view.is_cross else ""
    other = (Term('X_"enc"', "the encoder’s output"),) if view.is_cross else ()
    inner = dense.maths(sized("Z", "S", dense.inputs), "O")
    return Formula(
        title="Attention block, pre-norm",
        summary=f"The first sub-layer of a layer: {norm.one}, attention, its output projection "
        "and the residual connection.",
        maths=(
            f"{sized('Z', 'S', dense.inputs)} = {name}({norm.operator}(X){more})",
            f"{sized('Y', 'S', dense.outputs)} = {inner} + X",
        ),
        terms=(
            TOKENS,
            Term("X", "input, one row per position", f"[S, {dense.outputs}]"),
            *other,
            Term("Z", "outputs of the heads, side by side", f"[S, {dense.inputs}]"),
            *dense.terms("the output projection", "O"),
            *norm.terms,
        ),
        notes=(RESIDUAL, "Pre-norm: the norm is applied to the attention’s input, not to the sum."),
        config_keys=view.keys("width", "heads", "epsilon"),
        source=_SOURCE,
    )


def model(view: ModuleView) -> Formula:
    """The encoder; a head for contacts stands beside it and is called on its own."""
    found = base_model(view)
    notes = list(found.notes)
    if "rotary_embeddings" in view.children:
        notes.append(
            "“rotary_embeddings” computes the angles by which attention rotates its vectors."
        )
    notes.append("“contact_head” is not part of a normal forward pass: predict_contacts calls it.")
    return replace(found, notes=tuple(notes), source=_SOURCE)


def lm_head(view: ModuleView) -> Formula:
    """RoBERTa's head; the bias is the head's own (Devlin et al. 2019, section 3.1, task 1)."""
    found, vocabulary = heads.lm_head(view), view.affine("decoder").outputs
    hidden, scores = found.maths
    bias = Term('b_"dec"', "bias, a tensor of this module itself", f"[{vocabulary}]")
    return replace(
        found,
        maths=(hidden, f'{scores} + b_"dec"'),
        terms=(*found.terms[:-1], bias, found.terms[-1]),
        source=heads.MASKED_LM,
    )


def contacts(view: ModuleView) -> Formula:
    """A logistic regression on all heads' attention (Rao et al. 2021, section 3.2)."""
    layer = view.affine("regression")
    maths = layer.maths(sized("F_(i j)", layer.inputs), sizes=False)
    return Formula(
        title="Contact head",
        summary="Predicts the probability of contact for every pair of amino acids, from the "
        "attention of all heads in all layers.",
        maths=(
            "B_c = P_c + P_c^top",
            "F_(i j, c) = B_(c, i j) - (sum_k B_(c, i k)) (sum_k B_(c, k j)) / "
            "(sum_k sum_l B_(c, k l)), quad c = " + indices(layer.inputs),
            f"p_(i j) = sigma({maths})",
        ),
        terms=(
            Term("P_c", "attention of head c, without the first and last tokens"),
            Term(
                "F_(i j, c)",
                "attention of head c between i and j, after average product correction",
            ),
            *layer.terms("the logistic regression"),
            Term("sigma", "the logistic function"),
        ),
        notes=(
            "It is called by predict_contacts and is not part of a normal forward pass.",
            "Attention to and from end-of-sequence tokens is set to 0 first.",
        ),
        config_keys=view.keys("layers", "heads"),
        source="Rao et al. 2021, section 3.2 (average product correction: Dunn et al. 2008)",
    )

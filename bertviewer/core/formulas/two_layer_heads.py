"""Heads of two linear layers, which score classes or tokens."""

from bertviewer.core.expressions.shape_text import shape_text
from bertviewer.core.families.module_kind import ModuleKind
from bertviewer.core.formulas.activations import operator_named, operator_of
from bertviewer.core.formulas.blocks import activation_terms
from bertviewer.core.formulas.formula import Formula, Term
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import TOKENS, sized


def classification(view: ModuleView) -> Formula:
    """Class scores from the first token: two linear layers with an activation in between."""
    note = "It replaces a pooler, which this model does not have."
    return _two_layers(view, "x_0", "first token", note)


def end_classification(view: ModuleView) -> Formula:
    """BART's: the same from the decoder's vector for the last end token (Lewis et al. 2020)."""
    note = (
        "The decoder’s last token has attended to the whole sequence; an encoder’s first token "
        "would serve as well, but here the decoder is read."
    )
    return _two_layers(view, "x_e", "last end-of-sequence token", note)


def _two_layers(view: ModuleView, vector: str, token: str, note: str) -> Formula:
    dense, out = view.affine("dense"), view.affine("out_proj")
    act = _head_activation(view)
    hidden = f"{act}({dense.maths(sized(vector, dense.inputs), '1')})"
    return Formula(
        title="Classification head",
        summary=f"Scores the classes from the vector of the {token}.",
        maths=(
            f"{sized('h', dense.outputs)} = {hidden}",
            f"{sized('z', out.outputs)} = {out.maths('h', '2')}",
        ),
        terms=(
            Term(vector, f"last hidden state of the {token}", shape_text((dense.inputs,))),
            *dense.terms("the first linear layer", "1"),
            *out.terms("the second linear layer", "2"),
            *activation_terms(act),
        ),
        notes=(note,),
        config_keys=view.keys("width", "labels"),
        source="Devlin et al. 2019, section 4.1; the extra layer as in transformers’ code",
    )


def _head_activation(view: ModuleView) -> str:
    """Return ELECTRA's, a child; RoFormer's and BigBird's, that of the layers; RoBERTa's tanh."""
    if "activation" in view.children:
        return operator_of(view, "activation")
    if view.kind is ModuleKind.ACTIVATED_CLASSIFICATION_HEAD:
        return operator_named(str(view.config["hidden_act"]))
    return "tanh"


def discriminator(view: ModuleView) -> Formula:
    """ELECTRA's discriminator: was this token replaced? (Clark et al. 2020, section 2)."""
    dense, out = view.affine("dense"), view.affine("dense_prediction")
    act = operator_of(view, "activation")
    return Formula(
        title="Discriminator head",
        summary="Scores for each token whether it was replaced.",
        maths=(
            f"{sized('H', 'S', dense.outputs)} = {act}("
            f"{dense.maths(sized('X', 'S', dense.inputs), '1')})",
            f"{sized('z', 'S')} = {out.maths('H', '2')}",
        ),
        terms=(
            TOKENS,
            Term("X", "last hidden state", f"[S, {dense.inputs}]"),
            *dense.terms("the first linear layer", "1"),
            *out.terms("the second linear layer", "2"),
            *activation_terms(act),
        ),
        notes=("The sigmoid of a score is the probability that the token was replaced.",),
        config_keys=view.keys("width", "activation"),
        source="Clark et al. 2020, section 2",
    )

"""Modules on top of a base model: poolers and prediction heads."""

from bertviewer.core.analysis.causality import is_causal
from bertviewer.core.expressions.shape_text import shape_text
from bertviewer.core.formulas.activations import operator_named, operator_of
from bertviewer.core.formulas.blocks import activation_terms
from bertviewer.core.formulas.formula import Formula, Term
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.norms import norm_of
from bertviewer.core.formulas.notation import TOKENS, sized
from bertviewer.core.formulas.notes import Note

MASKED_LM = "Devlin et al. 2019, section 3.1, task 1"
_POOLED = "pooled output of the base model"
FIRST_TOKEN = (
    Note(
        "Only the first token is read. Attention in every layer let it gather information from "
        "all the others, so its vector can represent the sequence.",
        lambda view: is_causal(view.architecture) is False,
    ),
    Note(
        "Only the first token is read. In a decoder it attends to no other token, so its vector "
        "represents that token alone.",
        lambda view: is_causal(view.architecture) is True,
    ),
)
LOGITS = "Scores (logits) are not yet probabilities: softmax over the vocabulary converts them."


def pooler(view: ModuleView) -> Formula:
    """Linear layer and tanh on the first token (Devlin et al. 2019, section 3.1, the vector C)."""
    dense = view.affine("dense")
    return Formula(
        title="Pooler",
        summary="Computes one vector that represents the whole sequence from the first token’s "
        "vector, with a linear layer and tanh.",
        maths=(f"{sized('p', dense.outputs)} = tanh({dense.maths(sized('x_0', dense.inputs))})",),
        terms=(
            Term("x_0", "last hidden state of the first token, [CLS]", shape_text((dense.inputs,))),
            *dense.terms("the pooler"),
            Term("p", "pooled output, between −1 and 1", shape_text((dense.outputs,))),
        ),
        notes=(
            *FIRST_TOKEN,
            "Purpose: next-sentence prediction and sequence-level classifiers need one vector of "
            "fixed size, regardless of the sequence length.",
            "BERT’s pooler was trained on next-sentence prediction; it is not a mean of the token "
            "vectors, and semantic similarity was not its objective.",
        ),
        config_keys=view.keys("width"),
        source="Devlin et al. 2019, section 3.1 (the vector C); the layer as in BERT’s code",
    )


def transform(view: ModuleView) -> Formula:
    """Linear layer, activation and layer norm before the vocabulary's scores."""
    dense = view.affine("dense")
    norm = norm_of(view, "LayerNorm", "norm")
    names = ("transform_act_fn", "activation", "act")
    act = operator_of(view, next(name for name in names if name in view.children))
    return Formula(
        title="Prediction head transform",
        summary="Transforms each position’s vector for the prediction of its token.",
        maths=(
            f"{sized('T', 'S', dense.outputs)} = {norm.operator}({act}("
            f"{dense.maths(sized('X', 'S', dense.inputs))}))",
        ),
        terms=(
            TOKENS,
            Term("X", "last hidden state", f"[S, {dense.inputs}]"),
            *dense.terms("the transform"),
            *activation_terms(act),
            *norm.terms,
        ),
        notes=(
            "The paper does not mention this step; it comes from the code published with the "
            "paper.",
        ),
        config_keys=view.keys("width", "embedding width", "activation", "epsilon"),
        source=f"{MASKED_LM}; the transform as in the published code",
    )


def context_pooler(view: ModuleView) -> Formula:
    """DeBERTa's pooler: a linear layer and an activation on the first token (published code)."""
    dense = view.affine("dense")
    act = operator_named(str(view.config["pooler_hidden_act"]))
    return Formula(
        title="Context pooler",
        summary="Computes one vector that represents the whole sequence from the first token’s "
        "vector.",
        maths=(f"{sized('p', dense.outputs)} = {act}({dense.maths(sized('x_0', dense.inputs))})",),
        terms=(
            Term("x_0", "last hidden state of the first token, [CLS]", shape_text((dense.inputs,))),
            *dense.terms("the pooler"),
            *activation_terms(act),
            Term("p", "pooled output", shape_text((dense.outputs,))),
        ),
        notes=(
            *FIRST_TOKEN,
            "It belongs to the head: the base model has no pooler.",
        ),
        config_keys=view.keys("width"),
        source="Devlin et al. 2019, section 3.1 (the vector C); He et al. 2021 and their code",
    )


def lm_head(view: ModuleView) -> Formula:
    """Scores for every vocabulary entry (Devlin et al. 2019, section 3.1, task 1)."""
    decoder = view.affine("decoder")
    lines, terms = lm_transform(view)
    scores = decoder.maths("T", quoted := '"dec"')
    return Formula(
        title="Language-model head",
        summary="Scores every vocabulary entry at every position.",
        maths=(*lines, f"{sized('L', 'S', decoder.outputs)} = {scores}"),
        terms=(
            TOKENS,
            Term("X", "last hidden state"),
            *terms,
            *decoder.terms("the decoder", quoted),
            Term("L", "logits, one per vocabulary entry", f"[S, {decoder.outputs}]"),
        ),
        notes=(*tying_notes(view, "decoder.weight"), *_bias_notes(view), LOGITS),
        config_keys=view.keys("vocabulary", "width", "embedding width", "tying"),
        source=f"{MASKED_LM}; tied weights: Press & Wolf 2017",
    )


def table_lm_head(view: ModuleView) -> Formula:
    """DeBERTa's of the published code: it multiplies with the table of words itself."""
    lines, terms = lm_transform(view)
    (count,) = view.tensors["bias"].shape
    word = 'W_"word"'
    return Formula(
        title="Language-model head",
        summary="Scores every vocabulary entry at every position.",
        maths=(*lines, f"{sized('L', 'S', count)} = T {word}^top + b"),
        terms=(
            TOKENS,
            Term("X", "last hidden state"),
            *terms,
            Term(word, "the token embedding table"),
            Term("b", "bias, a tensor of this module itself", f"[{count}]"),
            Term("L", "logits, one per vocabulary entry", f"[S, {count}]"),
        ),
        notes=("The module has two inputs: X and the token embedding table.", LOGITS),
        config_keys=view.keys("vocabulary", "width"),
        source=f"{MASKED_LM}; He et al. 2021 and their code",
    )


def mlm_only(view: ModuleView) -> Formula:
    """What only holds a masked-language-model head; one that multiplies with a table has a bias."""
    by_table = "lm_head" in view.children
    head = view.below("lm_head" if by_table else "predictions")
    size = head.tensors["bias"].shape[0] if by_table else head.affine("decoder").outputs
    return Formula(
        title="Masked language-model head",
        summary="Wraps the head that scores every vocabulary entry at every position.",
        maths=(f'{sized("L", "S", size)} = "Predictions"(X)',),
        terms=(TOKENS, Term("X", "last hidden state"), Term("L", "logits", f"[S, {size}]")),
        notes=(LOGITS,),
        config_keys=view.keys("vocabulary"),
        source=MASKED_LM,
    )


def pretraining(view: ModuleView) -> Formula:
    """Both heads of BERT's pretraining (Devlin et al. 2019, section 3.1)."""
    vocabulary = view.below("predictions").affine("decoder").outputs
    layer = view.affine("seq_relationship")
    return Formula(
        title="Pretraining heads",
        summary="Both of BERT’s pretraining tasks: score every vocabulary entry at every "
        "position, and score whether sentence B follows sentence A.",
        maths=(
            f'{sized("L", "S", vocabulary)} = "Predictions"(X)',
            f"{sized('z', layer.outputs)} = {layer.maths(sized('p', layer.inputs))}",
        ),
        terms=(
            TOKENS,
            Term("X", "last hidden state"),
            Term("p", _POOLED),
            *layer.terms("the sentence head"),
        ),
        notes=(LOGITS, "Entry 0 of z scores “B follows A”, entry 1 “B is random”."),
        config_keys=view.keys("vocabulary", "width"),
        source="Devlin et al. 2019, section 3.1, tasks 1 and 2",
    )


def pooled_scores(view: ModuleView) -> Formula:
    """Scores from the pooled output: next sentence, or ALBERT's sentence order."""
    order = "classifier" in view.children
    layer = view.affine("classifier" if order else "seq_relationship")
    return Formula(
        title="Sentence-order head" if order else "Next-sentence head",
        summary="Scores from the pooled output whether the two sentences are in the original order."
        if order
        else "Scores from the pooled output whether sentence B follows sentence A.",
        maths=(f"{sized('z', layer.outputs)} = {layer.maths(sized('p', layer.inputs))}",),
        terms=(Term("p", _POOLED), *layer.terms("the head")),
        notes=(
            "Entry 0 scores the original order, entry 1 the swapped order."
            if order
            else "Entry 0 of z scores “B follows A”, entry 1 “B is random”.",
        ),
        config_keys=view.keys("width"),
        source="Lan et al. 2020, section 3.1"
        if order
        else "Devlin et al. 2019, section 3.1, task 2",
    )


def tying_notes(view: ModuleView, name: str) -> tuple[str, ...]:
    """Return a note on a weight that is another tensor under a second name."""
    tensor = view.tensors.get(name)
    if tensor is None or tensor.tied_to is None:
        return ()
    return (
        f"The weight is tied: it is the same tensor as {tensor.tied_to}, listed under both names "
        "and counted once. A token’s row is used both to embed the token and to score it.",
    )


def _bias_notes(view: ModuleView) -> tuple[str, ...]:
    names = [view.tensors.get(name) for name in ("bias", "decoder.bias")]
    if not any(tensor is not None and tensor.tied_to for tensor in names):
        return ()
    return ("“bias” and “decoder.bias” are two names for one tensor, which is added once.",)


def lm_transform(view: ModuleView) -> tuple[tuple[str, ...], tuple[Term, ...]]:
    """Return the lines and terms before the decoder: a child's, or this module's own layers."""
    if "transform" in view.children:
        return ('T = "Transform"(X)',), (Term("T", "output of the head’s transform"),)
    dense, norm = view.affine("dense"), norm_of(view, "LayerNorm", "layer_norm")
    # RoBERTa calls the exact GELU itself; ALBERT holds an activation module.
    names = [name for name in ("activation", "transform_act_fn") if name in view.children]
    act = operator_of(view, names[0]) if names else 'op("GELU")'
    line = (
        f"{sized('T', 'S', dense.outputs)} = {norm.operator}({act}("
        f"{dense.maths(sized('X', 'S', dense.inputs), '1')}))"
    )
    return (line,), (
        *dense.terms("the first linear layer", "1"),
        *activation_terms(act),
        *norm.terms,
    )

"""How models with a head come from hidden states to scores: their last lines."""

from bertviewer.core.families.module_kind import ModuleKind
from bertviewer.core.formulas.activations import operator_of
from bertviewer.core.formulas.formula import Term
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.norms import norm_of
from bertviewer.core.formulas.notation import Affine, sized

_POOLED = Term("p", "pooled output: one vector for the sequence")
_FIRST = Term("x_0", "row of X of the first token")


def language_scores(view: ModuleView) -> tuple[tuple[str, ...], tuple[Term, ...], str]:
    """Return lines, terms and the name of the last linear layer, where it is a child itself."""
    names = ("vocab_projector", "generator_lm_head", "decoder")
    last = next((n for n in names if view.kind_below(n) is ModuleKind.LINEAR), "")
    if "vocab_transform" in view.children:
        first, norm = view.affine("vocab_transform"), norm_of(view, "vocab_layer_norm")
        act = operator_of(view, "activation")
        inner = first.maths(sized("X", "S", first.inputs), "1")
        line = f"{sized('T', 'S', first.outputs)} = {norm.operator}({act}({inner}))"
        terms = first.terms("the transform", "1")
    elif last:
        line, terms = 'T = "Transform"(X)', (Term("T", "output of the head’s transform"),)
    elif view.kind_below("lm_head") is ModuleKind.LINEAR:
        return _lm_head(view)
    else:
        return ('L = "Head"(X)',), (), ""
    layer = view.affine(last)
    scores = f"{sized('L', 'S', layer.outputs)} = {layer.maths('T', '2')}"
    return (line, scores), (*terms, *layer.terms("the vocabulary scores", "2")), last


def class_scores(view: ModuleView) -> tuple[tuple[str, ...], tuple[Term, ...]]:
    """Return the lines and terms of a classifier of whole sequences."""
    if "score" in view.children:
        layer = view.affine("score")
        last = Term("x_e", "row of X of the last token that is not padding")
        return (_scores(layer, "x_e"),), (last, *layer.terms("the score layer"))
    if "pre_classifier" in view.children:
        return _two_layers(view)
    if "classification_head" in view.children:
        end = Term("x_e", "row of X, the decoder’s output, at the last end-of-sequence token")
        return ('z = "ClassificationHead"(x_e)',), (end,)
    if view.kind_below("classifier") is not ModuleKind.LINEAR:
        return ('z = "Classifier"(X)',), ()
    layer = view.affine("classifier")
    if "pooler" in view.children:
        line = f'{sized("v", layer.inputs)} = "Pooler"(x_0)'
        vector = Term("v", "pooled vector: one for the sequence")
        return (line, _scores(layer, "v")), (_FIRST, vector, *layer.terms("the classifier"))
    if "head" in view.children:
        return _modernbert(view, layer)
    return (_scores(layer, "p"),), (_POOLED, *layer.terms("the classifier"))


def rows(result: str, layer: Affine, argument: str = "X") -> str:
    """Return the line in which a linear layer scores every position."""
    scores = layer.maths(sized(argument, "S", layer.inputs))
    return f"{sized(result, 'S', layer.outputs)} = {scores}"


def _lm_head(view: ModuleView) -> tuple[tuple[str, ...], tuple[Term, ...], str]:
    """Return the scores of a bare linear layer; BART adds a fixed bias, T5 may scale first."""
    layer = view.affine("lm_head")
    terms = layer.terms("the language-model head")
    if view.config.get("scale_decoder_outputs"):
        term = Term(
            "c", "factor applied to the decoder’s output: 1 over the square root of the hidden size"
        )
        line = rows("L", layer).replace(" = ", " = c thick ", 1)
        return (f"{line}, quad c = 1 / sqrt({layer.inputs})",), (*terms, term), "lm_head"
    if view.kind is ModuleKind.BART_LANGUAGE_MODEL:
        term = Term('b_"final"', "a buffer of zeros, not learnt", f"[1, {layer.outputs}]")
        return (f'{rows("L", layer)} + b_"final"',), (*terms, term), "lm_head"
    return (rows("L", layer),), terms, "lm_head"


def _two_layers(view: ModuleView) -> tuple[tuple[str, ...], tuple[Term, ...]]:
    """Return DistilBERT's classifier: two linear layers on the first token."""
    first, layer = view.affine("pre_classifier"), view.affine("classifier")
    hidden = f'op("ReLU")({first.maths(sized("x_0", first.inputs), "1")})'
    lines = (
        f"{sized('h', first.outputs)} = {hidden}",
        f"{sized('z', layer.outputs)} = {layer.maths('h', '2')}",
    )
    terms = (_FIRST, *first.terms("the first linear layer", "1"))
    return lines, (*terms, *layer.terms("the classifier", "2"))


def _modernbert(view: ModuleView, layer: Affine) -> tuple[tuple[str, ...], tuple[Term, ...]]:
    """Return ModernBERT's classifier, of the first token or of the mean of all."""
    mean = view.config.get("classifier_pooling") == "mean"
    source = "1/S sum_s x_s" if mean else "x_0"
    meant = Term("x_s", "row of X at position s; padding is excluded") if mean else _FIRST
    line = f'{sized("v", layer.inputs)} = "Head"({source})'
    vector = Term("v", "output of the head’s transform: one vector for the sequence")
    return (line, _scores(layer, "v")), (meant, vector, *layer.terms("the classifier"))


def _scores(layer: Affine, argument: str) -> str:
    return f"{sized('z', layer.outputs)} = {layer.maths(sized(argument, layer.inputs))}"

"""In all formulas of a model, each letter has one meaning."""

import re
from collections.abc import Iterator

import pytest

from bertviewer.core.expressions.symbols import STANDARD_NAMES
from bertviewer.core.formulas.catalogue import formula_of
from bertviewer.core.formulas.formula import Formula
from bertviewer.core.formulas.notation import styled
from bertviewer.core.schema.architecture import Architecture
from tests.core.formulas.formula_models import HEADS, TINY
from tests.core.formulas.test_texts import CONFIGURATIONS, architecture_at

MEANINGS = {
    "S": r"number of |its positions",
    # Matrices
    "bold(A)": r"output of ",
    "bold(B)": r"bias of|(distance |position )bias|depends only .* rel pos",
    "bold(C)": r"latent vectors|symmetrised attention|output of “conv",
    "bold(E)": r"output of .*embed|patch embeddings",
    "bold(F)": r"spectrogram|discrete Fourier",
    "bold(G)": r"gate G and gated",
    "bold(H)": r"inner features|output of |transformed vectors|sum with the|(part|adjacent) ",
    "bold(I)": r"the image",
    "bold(J)": r"",  # any other result
    "bold(K)": r"keys|the \d+ columns|the part|output of",
    "bold(M)": r"mask: 0 at visible",
    "bold(N)": r"output of|the normalised input|number of times|1 where position",
    "bold(O)": r"output.* of (the )?(\d+ )?head",
    "bold(P)": r"attention",
    "bold(Q)": r"queries|the \d+ columns|the part|output of",
    "bold(R)": r"one vector for each distance",
    "bold(Theta)": r"sines and cosines",
    "bold(U)": r"gate G and gated",
    "bold(V)": r"the \d+ columns|output of",
    "bold(W)": r"weight|(embedding |position )?table|one row per|fixed|kernel|learnt|matrix|param",
    "bold(X)": r"input|hidden state|the encoder’s output|last hidden|residual|embedded|output of|"
    r"the (first|second) input|quotient",
    "bold(Y)": r"",
    "bold(Z)": r"scores|logits",
    # Vectors
    "bold(b)": r"bias|a buffer",
    "bold(beta)": r"learnt shift",
    "bold(c)": r"pooled output",
    "bold(f)": r"vector for the sequence|features of the pair",
    "bold(g)": r"segment ids",
    "bold(gamma)": r"learnt (scale|weight)",
    "bold(k)": r"row",
    "bold(lambda)": r"learnt scale",
    "bold(m)": r"mask",
    "bold(q)": r"row",
    "bold(r)": r"weights of the selected|input: top k weights",
    "bold(t)": r"token ids",
    "bold(u)": r"learnt vector",
    "bold(v)": r"learnt vector",
    "bold(x)": r"input|the input|last hidden|row of|learnt|query or key|score",
    "bold(y)": r"output|the row|vector of position|row of",
    "bold(z)": r"logits|one logit|two logits|row of Z",
    # Numbers
    "alpha": r"constant factor",
    "b": r"bias",
    "d": r"(head size|size of a query)",
    "epsilon": r"small constant",
    "eta": r"slope",
    "h": r"index of the head",
    "italic(x)": r"one element",
    "kappa": r"constants of the code|fraction",
    "l": r"index of the",
    "m": r"1 if the element",
    "mu": r"mean",
    "n": r"number of",
    "p": r"(its )?prob",
    "r": r"weight of expert",
    "s": r"position",
    "sigma": r"population variance",
    "t": r"index at position",
    "theta": r"rotation angle",
    "w": r"weight|kernel",
    "x": r"score",
    "y": r"correct class",
    "z": r"score|learnt score",
    "τ": r"loop iteration",
    # Functions and sets
    "Phi": r"cumulative distribution",
    "cal(E)": r"the selected experts|input: top k index",
    "cal(G)": r"set of global",
    "ast": r"convolution",
    "dot.o": r"element-wise product",
    "tanh": r".*hyperbolic tangent",
}
"""The start of a term’s meaning, by its letter as it is set, without index."""

OTHERS = ("fnet", "mamba", "mixtral", "mobilebert", "rwkv", "vit", "xlnet")
MODELS = (*TINY, *HEADS, *CONFIGURATIONS, *OTHERS)


def letters_of(symbol: str) -> Iterator[str]:
    """Yield the letters of a symbol as they are set, without index; names have none."""
    shown = styled(symbol)
    for each in re.split(r", (?![^(]*\))", shown):
        if not each.startswith(('"', "op(")):
            found = re.match(r"(?:bold|italic|cal)\(\w+\)|[\w.]+?(?=[_^']|$)", each)
            assert found is not None, symbol
            yield found[0]


def formulas_of(architecture: Architecture) -> Iterator[Formula]:
    found = (formula_of(node, architecture) for node in architecture.modules)
    yield from (formula for formula in found if formula is not None)


def test_letters_of_counts_are_not_used_for_anything_else() -> None:
    assert MEANINGS.keys() & STANDARD_NAMES == {"S"}


@pytest.mark.parametrize("model", dict.fromkeys(MODELS))
def test_each_letter_has_one_meaning(model: str) -> None:
    for formula in formulas_of(architecture_at(model)):
        for term in formula.terms:
            for letter in letters_of(term.symbol):
                assert re.match(MEANINGS[letter], term.meaning), f"{letter}: {term.meaning}"


@pytest.mark.parametrize(
    ("maths", "expected"),
    [
        ("limits(W_Q^top)_(24 times 24)", "limits(bold(W)_Q^top)_(24 times 24)"),
        ('X_(l+1) = "Layer"_l (X_l)', 'bold(X)_(l+1) = "Layer"_l (bold(X)_l)'),
        ('K_(op("group")(h))', 'bold(K)_(op("group")(h))'),
        ("y_j = sum_i x_i w_(j, i) + b_j", "y_j = sum_i x_i w_(j, i) + b_j"),
        ("y_s = W[t_s]", "bold(y)_s = bold(W)[t_s]"),
        ('op("GELU")(italic(x))', 'op("GELU")(italic(x))'),
        ("P_h V_h dot.o gamma", "bold(P)_h bold(V)_h dot.o bold(gamma)"),
    ],
)
def test_matrices_and_vectors_are_bold(maths: str, expected: str) -> None:
    assert styled(maths) == expected

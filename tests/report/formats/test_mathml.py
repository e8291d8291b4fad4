"""Formulas as MathML and as LaTeX, also those of all families."""

import re

import pytest

from bertviewer.core.formulas.catalogue import formula_of
from bertviewer.core.formulas.notation import styled
from bertviewer.report.formats.maths import latex_maths
from bertviewer.report.mathml import MathLine, mathml_of
from bertviewer.report.spoken import spoken
from tests.core.formulas.formula_models import all_architectures, maths_of

CASES = {
    "x": "x",
    "d_k": "d_{k}",
    "x_i^2": "x_{i}^{2}",
    "1/2": r"\frac{1}{2}",
    "sqrt(d_k)": r"\sqrt{d_{k}}",
    "root(3, x)": r"\sqrt[3]{x}",
    "limits(W)_(2 times 3)": r"\underset{2 \times 3}{W}",
    "sum_(i=1)^n x_i": r"\sum_{i = 1}^{n} x_{i}",
    'op("softmax")(x/y)': r"\operatorname{softmax} \left( \frac{x}{y} \right)",
    '"Encoder"(X_"src")': r"\text{Encoder} (X_{\text{src}})",
    'max_(i) "a_b 50%"': r"\operatorname*{max}_{i} \text{a} \_ \text{b 50} \%",
    "W^top x dot y": r"W^{\top} x \cdot y",
    "abs(x) + norm(y)": r"\lvert x \rvert + \lVert y \rVert",
    "floor(x/y)": r"\left\lfloor \frac{x}{y} \right\rfloor",
    "x' + hat(y) + overline(z)": r"x' + \hat{y} + z",
    "RR^(S times D)": r"\mathbb{R}^{S \times D}",
    "cal(L) bold(W) upright(d)": r"\mathcal{L} \boldsymbol{W} \mathrm{d}",
    "epsilon phi theta Phi": r"\varepsilon \varphi \theta \Phi",
    "a, quad b thick c": r"a, \quad b \; c",
    "cases(1, 2)": r"\left\{ \begin{array}{l} 1 \\ 2 \end{array} \right.",
    "mat(1, 2; 3, 4)": r"\left( \begin{array}{cc} 1 & 2 \\ 3 & 4 \end{array} \right)",
    "a &= b \\ &= c": "\\begin{aligned}\na & = b \\\\\n& = c\n\\end{aligned}",
    "{x in NN}": r"\{ x \in \mathbb{N} \}",
    "overbrace(a + b, n)": r"\overbrace{a + b}^{n}",
    "x <= y != z": r"x \leq y \neq z",
}


def test_formulas_as_latex() -> None:
    lines = {source: MathLine(source, is_block=True) for source in CASES}
    found = mathml_of(lines.values())
    assert {source: latex_maths(found[line]) for source, line in lines.items()} == CASES


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ('op("softmax")(x)', "softmax of x"),
        ("Phi(x) = x/2", "Phi of x equals x over 2"),
        (
            'Y = op("softmax")((Q_h K_h^top) / sqrt(d_k) + M)',
            "Y equals softmax of open parenthesis the fraction Q sub h K sub h transposed over the "
            "square root of d sub k, end root, end fraction, plus M close parenthesis",
        ),
        ("limits(W)_(2 times S)[t], quad t in RR", "W of size 2 by S at t, t in the real numbers"),
        ("sum_(i=1)^n x_i^2", "the sum from i equals 1 to n of x sub i squared"),
        ("max_i abs(x)^(-3)", "max over i vertical bar x vertical bar to the power of minus 3"),
        ("hat(epsilon) dot.o overbrace(y, n) \\ z", "epsilon hat times element by element y, that is n; z"),  # noqa: E501
    ],
)  # fmt: skip
def test_formulas_in_words(source: str, words: str) -> None:
    (mathml,) = mathml_of([MathLine(source, is_block=True)]).values()
    assert spoken(mathml) == words


def test_each_line_is_one_element() -> None:
    lines = [MathLine("x"), MathLine("x", is_block=True), MathLine("y"), MathLine("x")]
    found = mathml_of(lines)
    assert list(found) == lines[:3]
    assert found[MathLine("x")] == "<math><mi>𝑥</mi></math>"
    assert found[MathLine("x", is_block=True)] == '<math display="block"><mi>𝑥</mi></math>'
    assert mathml_of([]) == {}


@pytest.mark.parametrize(
    "mathml",
    [
        "<math><mi>中</mi></math>",
        "<math><menclose><mi>x</mi></menclose></math>",
        '<math><mspace width="3px"/></math>',
        "<math><mo>⟴</mo></math>",
    ],
)
def test_elements_without_latex_are_refused(mathml: str) -> None:
    with pytest.raises(ValueError, match=r"no (LaTeX|command) is known"):
        latex_maths(mathml)


def test_formulas_of_all_families_are_balanced_latex() -> None:
    lines: dict[MathLine, None] = {}
    for architecture in all_architectures().values():
        for node in architecture.modules:
            formula = formula_of(node, architecture)
            if formula is None:  # it is never called
                continue
            lines |= dict.fromkeys(
                MathLine(styled(maths), is_block=True) for maths in formula.maths
            )
            lines |= dict.fromkeys(MathLine(styled(term.symbol)) for term in formula.terms)
            lines |= dict.fromkeys([MathLine(maths_of(node, architecture) or "", is_block=True)])
    assert len(lines) > 500
    for line, element in mathml_of(lines).items():
        assert not re.search(r"[][(){}^=+*/|:∑√∈]", spoken(element))
        written = latex_maths(element)
        assert written.isascii()
        assert written.count("{") == written.count("}"), line
        assert written.count(r"\left") - written.count(r"\left" + "arrow") == written.count(
            r"\right"
        ) - written.count(r"\right" + "arrow"), line
        # In a cell of a table of Markdown, and where MathJax reads it as HTML.
        assert "|" not in written

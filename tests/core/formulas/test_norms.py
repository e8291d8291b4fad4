"""A formula names the norm that a module has: a BERT with RMS norms, which nobody has."""

from dataclasses import replace
from functools import cache

import pytest
from torch import nn

from bertviewer.core.architecture.architecture import Architecture
from bertviewer.core.families.families import FAMILIES, classes_of, kind_of_class
from bertviewer.core.formulas.catalogue import formula_of
from bertviewer.core.formulas.formula import Formula
from bertviewer.core.formulas.kinds import FORMULAS
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.norms import norm_of
from bertviewer.core.formulas.notation import RMS_NORM
from tests.core.families.rms_bert import SAGA, architecture
from tests.core.formulas.found_formulas import node_at
from tests.core.formulas.said_and_done import CLOSED, done, said, tells_all

WITH_SAGA = classes_of((*FAMILIES, SAGA))
NORMED = (
    "bert.embeddings",
    "bert.encoder.layer.1",
    "bert.encoder.layer.1.attention",
    "bert.encoder.layer.1.attention.output",
    "bert.encoder.layer.1.output",
    "cls.predictions.transform",
)


class StrangeNorm(nn.RMSNorm):
    """A norm of a class that no family has."""


@cache
def saga() -> Architecture:
    return architecture()


def formula_at(path: str, found: Architecture) -> Formula:
    formula = formula_of(node_at(found, path), found, WITH_SAGA)
    assert formula is not None
    return formula


@pytest.mark.parametrize("path", NORMED)
def test_maths_legend_and_words_say_which_norm_it_is(path: str) -> None:
    formula = formula_at(path, saga())
    assert f"{RMS_NORM}(" in " ".join(formula.maths)
    assert [term.symbol for term in formula.terms].count(RMS_NORM) == 1
    words = " ".join((formula.summary, *formula.maths, *formula.notes))
    assert "LayerNorm" not in words
    assert "layer norm" not in words


def test_every_role_says_what_the_flow_does() -> None:
    found = saga()
    assert found.flows is not None
    told = []
    for node in found.modules:
        flow, formula = found.flows.flow(node.path), formula_at(node.path, found)
        kind = kind_of_class(node.class_name, WITH_SAGA)
        assert kind is not None, node.class_name
        if flow is not None and kind.role in CLOSED and tells_all(flow, formula):
            assert said(formula) == done(flow, found, CLOSED[kind.role]), node.path
            told.append(node.path)
    assert set(told) >= set(NORMED) - {"bert.embeddings"}


@pytest.mark.parametrize("path", NORMED)
def test_with_a_norm_that_nobody_knows_the_flow_is_told(path: str) -> None:
    found = architecture(StrangeNorm)
    node = node_at(found, path)
    kind = kind_of_class(node.class_name, WITH_SAGA)
    assert kind is not None
    with pytest.raises(LookupError, match="StrangeNorm is no normalisation of a known kind"):
        FORMULAS[kind](ModuleView.of(node, found, WITH_SAGA))
    assert formula_at(path, found).title == node.class_name  # as read off the flow


def test_where_there_is_no_norm_none_is_named() -> None:
    view = ModuleView.of(node_at(saga(), "bert.encoder.layer.1.intermediate"), saga(), WITH_SAGA)
    with pytest.raises(LookupError, match="LayerNorm"):
        norm_of(view, "LayerNorm")


def test_a_layer_with_norms_of_two_kinds_has_no_formula_of_its_role() -> None:
    path = "bert.encoder.layer.1"
    modules = tuple(
        replace(node, class_name="LayerNorm")
        if node.path == f"{path}.attention.output.LayerNorm"
        else node
        for node in saga().modules
    )
    mixed = replace(saga(), modules=modules)
    assert formula_at(path, saga()).title == "Transformer layer, post-norm"
    assert formula_at(path, mixed).title == node_at(mixed, path).class_name  # off the flow

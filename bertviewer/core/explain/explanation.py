"""What an explanation is: a learner's question, the known answer, and when it is true."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from bertviewer.core.explain.reference import Reference
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.modules import ModuleNode

if TYPE_CHECKING:
    from bertviewer.core.analysis.attention_maps import AttentionMaps  # and with it numpy

ViewTitle = Literal[
    "Layers", "Token", "Similarity", "Attention", "Predictions", "Tokens", "Sentence"
]
"""The views of a run, by their titles; "Sentence" is the page of the text as a whole."""

Section = Literal[
    "overview",
    "parameters",
    "memory",
    "costs",
    "formulas",
    "tokens",
    "statistics",
    "outliers",
    "attention",
    "mask",
    "similarity",
    "sentence vectors",
    "predictions",
]
"""The parts of a report."""


class Asked(Struct, frozen=True, eq=False):
    """What a question is asked about.

    Attributes:
        architecture: the open model.
        node: the module; the model itself where none is meant.
        run: the last run, ``None`` before there is one.
        maps: what the heads of the attention in sight look at, ``None`` where that is not known.
        state: the hidden state in sight, ``None`` for the last one.
    """

    architecture: Architecture
    node: ModuleNode
    run: ActivationRun | None = None
    maps: "AttentionMaps | None" = None
    state: int | None = None

    @property
    def view(self) -> ModuleView:
        """The module as its formula sees it."""
        return ModuleView.of(self.node, self.architecture)


Numbers = Mapping[str, str]
Facts = Callable[[Asked], Numbers | None]
"""Returns the numbers to be put into a text, ``None`` where it is not true."""


def nothing(_asked: Asked) -> None:
    """Return that nothing was measured."""


class Explanation(Struct, frozen=True):
    """A question that is asked of many models, and its answer.

    Attributes:
        name: its name, for links and tests.
        question: as a learner asks it, with places for numbers as ``{heads}``.
        text: the known answer in two sentences, likewise.
        sources: what it is said after, keys of ``references``.
        facts: the numbers, where the answer is true of the module or model.
        roles: the kinds of modules that it is asked of.
        names: the names of modules that it is asked of, whatever their kind.
        of_model: whether it is asked of the model as a whole.
        views: the views of a run in which it is asked.
        sections: the parts of a report in which it is answered.
        measured_text: a sentence about the run, with places likewise; empty for none.
        measured: the numbers of that sentence, where it is true of the run.
    """

    name: str
    question: str
    text: str
    sources: tuple[str, ...]
    facts: Facts
    roles: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    of_model: bool = False
    views: tuple[ViewTitle, ...] = ()
    sections: tuple[Section, ...] = ()
    measured_text: str = ""
    measured: Facts = nothing


class Answer(Struct, frozen=True):
    """A question with its answer for the model, or the run, at hand.

    Attributes:
        name: the explanation's name.
        question: the question, with this model's numbers.
        text: the known answer, likewise.
        measured: what this run shows of it; empty where it shows nothing.
        references: the sources.
        path: the module that it was asked of, empty for the model.
    """

    name: str
    question: str
    text: str
    measured: str
    references: tuple[Reference, ...]
    path: str = ""

    @property
    def source(self) -> str:
        """The sources as they are cited: "Clark et al. 2019; Xiao et al. 2024"."""
        return "; ".join(reference.key for reference in self.references)

"""Explanations: a question, its answer, the condition under which it applies, and its sources."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct, field

from bertviewer.core.analysis.attention_modules import is_causal
from bertviewer.core.analysis.tokens import token_classes
from bertviewer.core.explain.bibliography import Reference, references_in
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.schema.activation_run import ActivationRun, ModuleActivation, Token
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.modules import ModuleNode
from bertviewer.core.sources.families import FRAMES, Frame

if TYPE_CHECKING:  # they import numpy, and the window's start does not
    import numpy as np
    from numpy.typing import NDArray

    from bertviewer.core.analysis.attention_layers import AttentionLayer
    from bertviewer.core.analysis.attention_maps import HeadMeasures
    from bertviewer.core.analysis.predictions import Predictions

ViewTitle = Literal[
    "Layers", "Token", "Similarity", "Attention", "Predictions", "Tokens", "Sentence"
]
"""The views of a run, by title; "Sentence" is the page of the whole text."""

Section = Literal[
    "overview",
    "parameters",
    "memory",
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


class Context(Struct, frozen=True, eq=False):
    """The model, module and run that a question is asked about.

    Attributes:
        architecture: the open model.
        node: the module; the root for the model as a whole.
        run: the last run, ``None`` without one.
        heads: measures of the heads of the visible layer, in a report of all layers.
        state: the visible hidden state, ``None`` for all of them.
        predictions: the visible ones, in a report all of them.
        is_about_model: whether the question is about the whole model; ``node`` is then the first
            module for which it can be answered.
    """

    architecture: Architecture
    node: ModuleNode
    run: ActivationRun | None = None
    heads: "Mapping[AttentionLayer, HeadMeasures]" = field(default_factory=dict)
    state: int | None = None
    predictions: "tuple[Predictions, ...]" = ()
    is_about_model: bool = False

    @property
    def view(self) -> ModuleView:
        """The module as formulas read it."""
        return ModuleView.of(self.node, self.architecture)

    @property
    def activation(self) -> ModuleActivation | None:
        """The module's statistics in the run, ``None`` without any."""
        return None if self.run is None else self.run.activation(self.node.path)

    @property
    def tokens(self) -> Sequence[Token]:
        """The run's tokens, empty without a run."""
        return () if self.run is None else self.run.tokens

    @property
    def hidden_states(self) -> "Sequence[NDArray[np.floating[Any]]]":
        """The run's hidden states [S, D], empty without any."""
        return () if self.run is None else self.run.hidden_states

    @property
    def is_trained(self) -> bool:
        """Whether values come from weights that were read."""
        source = self.architecture.source if self.run is None else self.run.source
        return source.weights == "pretrained"

    @property
    def is_random(self) -> bool:
        """Whether there is a run with random weights."""
        return self.run is not None and self.run.source.weights == "random"

    @property
    def compares_tokens(self) -> bool:
        """Whether any tokens attend to others by queries and keys; in FNet they do not."""
        return any(node.role == "self-attention" for node in self.architecture.modules)

    @property
    def is_encoder(self) -> bool:
        """Whether the model is a single stack in which tokens attend to later ones."""
        return not self.architecture.is_encoder_decoder and is_causal(self.architecture) is False

    @property
    def is_decoder(self) -> bool:
        """Whether the model is a single stack in which no token attends to later ones."""
        return not self.architecture.is_encoder_decoder and is_causal(self.architecture) is True

    @property
    def start_token(self) -> str:
        """The token before a text, as "[CLS]"; empty if unknown or, as in XLNet, at the end."""
        frame, places = self._frame, self.positions("cls")
        if places:
            return self.tokens[0].text if places[0] == 0 else ""
        return frame.first[0] if frame and frame.first else ""

    @property
    def end_token(self) -> str:
        """The token after a text, as "[SEP]"; empty if unknown."""
        frame, places = self._frame, self.positions("sep")
        if places:
            return self.tokens[places[-1]].text
        return frame.last[0] if frame and frame.last else ""

    @property
    def mask_token(self) -> str:
        """The token that hides a word; empty if unknown."""
        frame = self._frame
        return frame.mask[0] if frame and frame.mask else ""

    @property
    def _frame(self) -> Frame | None:
        return FRAMES.get(str(self.architecture.config.get("model_type")))

    def positions(self, token_class: str) -> tuple[int, ...]:
        """Return the positions of a class of tokens in the run, as "cls"."""
        classes = () if self.run is None else token_classes(self.run)
        return next((one.tokens for one in classes if one.name == token_class), ())


Numbers = Mapping[str, str]
Condition = Callable[[Context], Numbers | None]
"""Returns the numbers of a text by placeholder, ``None`` if the text does not apply."""


class Explanation(Struct, frozen=True):
    """A question that learners ask about many models, and its answer.

    Attributes:
        name: for links and tests.
        question: with placeholders for numbers, as ``{heads}``.
        text: the answer in two or three sentences, likewise.
        sources: keys of the bibliography, "Clark et al. 2019, section 3.2; Kovaleva et al. 2019".
        condition: returns the numbers of question and answer, if they apply to the context.
        roles: roles of the modules that it is about.
        names: names of further modules that it is about, whatever their role.
        of_model: whether it is about the model as a whole.
        views: the views of a run that show it.
        section: the part of a report that can contain it, ``None`` for the window alone.
        measured_text: a sentence about the run, with placeholders; empty for none.
        measured: returns the numbers of that sentence, if it applies to the run; ``None`` if they
            are those of ``condition``.
    """

    name: str
    question: str
    text: str
    sources: str
    condition: Condition
    roles: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    of_model: bool = False
    views: tuple[ViewTitle, ...] = ()
    section: Section | None = None
    measured_text: str = ""
    measured: Condition | None = None


class Answer(Struct, frozen=True):
    """An explanation with the numbers of one model and run.

    Attributes:
        name: the explanation's name.
        question: the question.
        text: the answer.
        measured: the sentence about the run; empty without one.
        source: the sources as they are cited.
        path: the module that it is about, empty for the model.
    """

    name: str
    question: str
    text: str
    measured: str
    source: str
    path: str = ""

    @property
    def references(self) -> tuple[Reference, ...]:
        """The works that it is based on."""
        return references_in(self.source)

"""A run of one sentence through a model: tokens and statistics as plain data."""

from collections.abc import Mapping
from math import prod
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta, Struct, field

from bertviewer.core.schema.check import Check
from bertviewer.core.schema.source_info import SourceInfo
from bertviewer.core.schema.statistics import STATISTIC_NAMES, Statistics, statistic_value
from bertviewer.core.util.serialization import NonNegative, NonNegativeFloat, PartialEquality

if TYPE_CHECKING:
    # ``--version`` must not import NumPy.
    import numpy as np
    from numpy.typing import NDArray

SCHEMA = "bertviewer.run/1"
"""The document that ``run --format json`` prints.

``modules`` are those that were called, in the order of the architecture, with the statistics of
the finite elements of their output over all calls; ``null`` if there are none or the output was
``not_measured``. ``hidden_states.layers`` is the number of states, N + 1 for N layers;
``token_norms`` has a row for each of them, with ``null`` for norms that are not finite or do not
exist. ``check`` lists the steps, ``null`` without ``--check``; ``unchecked`` the modules without
steps, and why. ``macs`` are multiply-adds, ``seconds`` those of the forward pass and in total.
``source`` says which weights are random.
"""

_Id = Annotated[int, Meta(ge=0, lt=2**31)]
_Shape = Annotated[tuple[Annotated[int, Meta(ge=0, lt=2**48)], ...], Meta(max_length=16)]
_Seconds = Annotated[float, Meta(ge=0, lt=1e9)]

TokenizerKind = Literal["model", "bert", "stand-in"]
"""The model's own, BERT's with the model's vocab.txt, or a placeholder without a vocabulary."""


class Sentence(Struct, frozen=True, forbid_unknown_fields=True):
    """The user's input: a text, and a second one for models of sentence pairs.

    ``cut`` truncates it to the model's maximum length.
    """

    text: str
    pair: str | None = None
    cut: bool = False


class Token(PartialEquality, Struct, frozen=True, forbid_unknown_fields=True):
    """A token of the sentence.

    Attributes:
        id: its number in the vocabulary.
        text: its text in the vocabulary.
        segment: 0 or 1, as the model gets it.
        word: the number of its word in the sentence or pair; ``None`` for special tokens and for
            spaces.
        is_special: whether it is a special token.
        is_unknown: whether it stands for text that the vocabulary lacks.
        written: the part of the text that it stands for, "" if that is not known.
        sentence: 0 for the first text, 1 for the second one, also where both have one segment;
            ``None`` for tokens that the tokenizer adds.
    """

    NOT_COMPARED = ("written", "sentence")

    id: _Id
    text: str
    segment: _Id
    word: _Id | None = None
    is_special: bool = False
    is_unknown: bool = False
    written: str = ""
    sentence: _Id | None = None


class ModuleActivation(PartialEquality, Struct, frozen=True, forbid_unknown_fields=True):
    """The statistics of a module's outputs.

    Attributes:
        path: the module.
        class_name: its class.
        input_shape: of the first input of the last call.
        output_shape: of the output of the last call.
        calls: the statistics of the output of each call: a shared layer, as ALBERT's, is called
            once per step. Those of a call that was not measured have no elements.
        macs: multiply-adds of all calls, including submodules; ``None`` if they are not known.
        token_norms: the Euclidean norm of each token in the last call's output, if it is [1, S, D].
        skip_reason: why an output was not measured, as "complex64"; "" if all were.
        macs_reason: why ``macs`` is not known, or why it was counted in this run: then it is valid
            for the experts that the tokens of this sentence were routed to.
    """

    NOT_COMPARED = ("token_norms",)

    path: str
    class_name: str
    input_shape: _Shape | None
    output_shape: _Shape
    calls: Annotated[tuple[Statistics, ...], Meta(min_length=1)]
    macs: NonNegative | None
    token_norms: "NDArray[np.floating[Any]] | None" = None
    skip_reason: str = field(name="left_out", default="")
    macs_reason: str = ""

    @property
    def statistics(self) -> Statistics:
        """The merged statistics of all calls."""
        merged = self.calls[0]
        for statistics in self.calls[1:]:
            merged = merged.merge(statistics)
        return merged


class ActivationRun(PartialEquality, Struct, frozen=True, forbid_unknown_fields=True):
    """A run of one sentence through a model.

    Attributes:
        source: the model.
        sentence: the user's input.
        tokenizer: the kind of tokenizer.
        tokens: the tokens; of an encoder-decoder the decoder's after the encoder's.
        modules: the modules that were called.
        token_norms: by hidden state and token, Euclidean; ``None`` for a norm that is not finite,
            and where an encoder and a decoder have different numbers of layers.
        seconds_forward: the time of the forward pass.
        seconds_total: the time of the whole run.
        check: the result of a check; ``None`` without one.
        device: torch's name of the device.
        hidden_states: as transformers returns them, [S, D] each: the embeddings, and one for each
            layer (GPT-2's last one after the final norm). () if they differ in size. Rows that do
            not exist, as the last ones of a shorter encoder, are NaN.
        state_paths: the modules that produced each state: one, or the encoder's and the decoder's.
        outputs: small outputs of the model by name, such as class logits, with the batch dimension.
    """

    NOT_COMPARED = ("hidden_states", "outputs")

    source: SourceInfo
    sentence: Sentence
    tokenizer: TokenizerKind
    tokens: Annotated[tuple[Token, ...], Meta(min_length=1)]
    modules: Annotated[tuple[ModuleActivation, ...], Meta(min_length=1)]
    token_norms: tuple[tuple[NonNegativeFloat | None, ...], ...]
    seconds_forward: _Seconds
    seconds_total: _Seconds
    check: Check | None = None
    device: str = "cpu"
    hidden_states: "tuple[NDArray[np.floating[Any]], ...]" = ()
    state_paths: tuple[Annotated[tuple[str, ...], Meta(max_length=2)], ...] = ()
    outputs: "Mapping[str, NDArray[Any]]" = field(default_factory=dict)

    def state_path(self, state: int, token: int) -> str | None:
        """Return the module that produced a token's hidden state, ``None`` if unknown."""
        if not 0 <= state < len(self.state_paths) or not (paths := self.state_paths[state]):
            return None
        # An encoder-decoder's segments are its stacks.
        return paths[min(self.tokens[token].segment, len(paths) - 1)] or None

    def state_of(self, path: str) -> int | None:
        """Return the last hidden state whose producer is or contains a module, ``None`` if none."""
        for state in reversed(range(len(self.state_paths))):
            if any(it and f"{path}.".startswith(f"{it}.") for it in self.state_paths[state]):
                return state
        return None

    @property
    def class_names(self) -> Mapping[str, str]:
        """The class of each called module by path."""
        return {module.path: module.class_name for module in self.modules}

    def activation(self, path: str) -> ModuleActivation | None:
        """Return the statistics of the module at ``path``, ``None`` if it was not called."""
        for module in self.modules:
            if module.path == path:
                return module
        return None

    def to_json(self) -> dict[str, Any]:
        """Return the document ``bertviewer.run/1``."""
        return {
            "schema": SCHEMA,
            "source": self.source.to_json(),
            "sentence": {"text": self.sentence.text, "pair": self.sentence.pair},
            "tokenizer": self.tokenizer,
            "tokens": [{"id": t.id, "text": t.text, "segment": t.segment} for t in self.tokens],
            "modules": [_module_to_json(module) for module in self.modules],
            "hidden_states": {
                "layers": len(self.token_norms),
                "token_norms": [list(norms) for norms in self.token_norms],
            },
            "check": self.check and [step.to_json() for step in self.check.steps],
            "unchecked": self.check
            and [{"path": left.path, "reason": left.reason} for left in self.check.unchecked],
            "seconds": {"forward": self.seconds_forward, "total": self.seconds_total},
        }


Side = Literal["input", "output"]


class TensorKey(Struct, frozen=True):
    """A tensor among the inputs and outputs of a call.

    Attributes:
        side: whether it is an input or an output.
        name: the argument's name, or the place in the output: ``hidden_states``, ``past.0.1``.
    """

    side: Side
    name: str


class ModuleTensor(Struct, frozen=True):
    """The description of an input or output of one call.

    Attributes:
        key: which tensor it is.
        shape: its dimensions; () for a nested tensor.
        dtype: torch's name of the dtype.
        symbolic_shape: the dimensions as formulas where they are known, else as numbers; ``None``
            if none is known.
        skip_reason: why its values cannot be shown, as "complex64".
    """

    key: TensorKey
    shape: tuple[int, ...]
    dtype: str
    symbolic_shape: tuple[str, ...] | None = None
    skip_reason: str = ""

    @property
    def numel(self) -> int:
        """The number of elements."""
        return prod(self.shape)


def _module_to_json(module: ModuleActivation) -> dict[str, Any]:
    statistics = module.statistics
    return {
        "path": module.path,
        "class": module.class_name,
        "input_shape": None if module.input_shape is None else list(module.input_shape),
        "output_shape": list(module.output_shape),
        **{
            name: None if module.skip_reason else statistic_value(statistics, name)
            for name in STATISTIC_NAMES
        },
        "not_measured": module.skip_reason or None,
        "macs": module.macs,
        "macs_reason": module.macs_reason or None,
    }

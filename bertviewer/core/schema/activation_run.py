"""What one sentence did to the model: plain data, free of torch."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta, Struct, field

from bertviewer.core.schema.check import Check
from bertviewer.core.schema.source_info import SourceInfo
from bertviewer.core.schema.statistics import STATISTIC_NAMES, Statistics, figure
from bertviewer.core.util.serialization import NonNegative, NonNegativeFloat, PartialEquality

if TYPE_CHECKING:
    # Whoever asks for the program's version does not wait for numpy.
    import numpy as np
    from numpy.typing import NDArray

SCHEMA = "bertviewer.run/1"
"""The document that ``run --format json`` prints.

``modules`` are those that were called, in the order of the architecture, with the statistics of
their output over its finite elements: all calls together, ``null`` where there is no such element
or the output was ``not_measured``. ``hidden_states.layers`` counts the states: N + 1 of a model of
N layers; ``token_norms`` has a row for each of them, ``null`` for what is not finite or not there.
``check`` lists the steps, ``null`` without ``--check``; ``unchecked`` what has none, and why.
``macs`` are multiply-adds, ``seconds`` those of the forward pass alone and of all of it. Whether
weights are random, and which, stands in ``source``.
"""

_Id = Annotated[int, Meta(ge=0, lt=2**31)]
_Shape = Annotated[tuple[Annotated[int, Meta(ge=0, lt=2**48)], ...], Meta(max_length=16)]
_Seconds = Annotated[float, Meta(ge=0, lt=1e9)]

TokenizerKind = Literal["model", "bert", "stand-in"]
"""Whose the tokens are: the model's own, BERT's by the model's vocab.txt, or of no vocabulary."""


class Sentence(Struct, frozen=True, forbid_unknown_fields=True):
    """What the user typed: a text, and a second one for models that read pairs.

    ``cut`` asks for as much of it as the model has positions for.
    """

    text: str
    pair: str | None = None
    cut: bool = False


class Token(PartialEquality, Struct, frozen=True, forbid_unknown_fields=True):
    """A piece of the sentence: its id in the vocabulary, its text, and its segment, 0 or 1.

    ``word`` numbers the words of the sentence, or of the pair: pieces of one word share it. It is
    ``None`` for special tokens, and for those of spaces alone. ``written`` is the part of the text
    that the token stands for: what an unknown one hides. It is empty where that is not known.
    ``sentence`` is 0 for a token of the first text that was typed and 1 for one of the second: many
    families have one segment for both. It is ``None`` for what a tokenizer puts around them.
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
    """What a module took and gave.

    ``calls`` has the output's statistics for each time the module was called: a shared layer, as
    ALBERT's, is called once per step. ``input_shape`` and ``output_shape`` are those of the last
    call. ``token_norms`` are the Euclidean norms of that call's output, one for each
    token, if it is [1, S, D].
    ``macs`` counts multiply-adds of all calls, of the modules below too; ``None`` where they are
    not known, and ``macs_reason`` says why. Where they are known, it says why they had to be
    counted, if no formula gives them: they are those of this sentence then, of the experts that its
    tokens were sent to.
    ``left_out`` says in one word, as "complex64", what kept an output from being measured, and is
    "" where all were; the statistics of such a call are those of no elements.
    """

    NOT_COMPARED = ("token_norms",)

    path: str
    class_name: str
    input_shape: _Shape | None
    output_shape: _Shape
    calls: Annotated[tuple[Statistics, ...], Meta(min_length=1)]
    macs: NonNegative | None
    token_norms: "NDArray[np.floating[Any]] | None" = None
    left_out: str = ""
    macs_reason: str = ""

    @property
    def statistics(self) -> Statistics:
        """The statistics of all calls together."""
        merged = self.calls[0]
        for statistics in self.calls[1:]:
            merged = merged.merge(statistics)
        return merged


class ActivationRun(PartialEquality, Struct, frozen=True, forbid_unknown_fields=True):
    """One sentence's way through the model.

    ``token_norms[i][j]`` is the Euclidean norm of token ``j``'s vector in hidden state ``i``;
    hidden state 0 is the embedding output, so a model of N layers has N + 1 of them. They are
    those that transformers gives; GPT-2's last one is taken after the final layer norm. ``None``
    stands for a norm that is not finite, and where an encoder and a decoder have different
    numbers of layers. ``check`` is ``None`` where the run was not checked.

    ``hidden_states`` are those states themselves, [S, D] each; there are none where they differ in
    size. Rows that do not exist, as the last ones of a shorter encoder, are NaN.
    ``state_paths[i]`` has the modules that gave state ``i``: one, or one for the encoder's tokens
    and one for the decoder's. ``outputs`` are the model's small outputs by name, batch size 1
    included: class logits, but not the scores of a whole vocabulary.
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
        """Return the module that gave a token's vector in a hidden state, ``None`` if unknown."""
        if not 0 <= state < len(self.state_paths) or not (paths := self.state_paths[state]):
            return None
        # An encoder-decoder's second segment is the decoder's.
        return paths[min(self.tokens[token].segment, len(paths) - 1)] or None

    def state_of(self, path: str) -> int | None:
        """Return the hidden state that a module has a part in: the last one whose giver holds it.

        ``None`` stands for modules outside of all of these.
        """
        for state in reversed(range(len(self.state_paths))):
            if any(
                giver and f"{path}.".startswith(f"{giver}.") for giver in self.state_paths[state]
            ):
                return state
        return None

    def activation(self, path: str) -> ModuleActivation | None:
        """Return what the module at ``path`` gave, ``None`` if it was not called."""
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


def _module_to_json(module: ModuleActivation) -> dict[str, Any]:
    statistics = module.statistics
    return {
        "path": module.path,
        "class": module.class_name,
        "input_shape": None if module.input_shape is None else list(module.input_shape),
        "output_shape": list(module.output_shape),
        **{
            name: None if module.skip_reason else figure(statistics, name)
            for name in STATISTIC_NAMES
        },
        "not_measured": module.skip_reason or None,
        "macs": module.macs,
        "macs_reason": module.macs_reason or None,
    }

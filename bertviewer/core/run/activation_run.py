"""What one sentence did to the model: plain data, free of torch."""

from dataclasses import dataclass
from typing import Any, Literal

from bertviewer.core.architecture import SourceInfo
from bertviewer.core.check_step import Check
from bertviewer.core.run.statistics import STATISTIC_NAMES, Statistics, figure

SCHEMA = "bertviewer.run/1"

TokenizerKind = Literal["model", "stand-in"]


@dataclass(frozen=True, slots=True)
class Sentence:
    """What the user typed: a text, and a second one for models that read pairs."""

    text: str
    pair: str | None = None


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the sentence: its id in the vocabulary, its text, and its segment, 0 or 1."""

    id: int
    text: str
    segment: int


@dataclass(frozen=True, slots=True)
class ModuleActivation:
    """What a module took and gave.

    ``calls`` has the output's statistics for each time the module was called: a shared layer, as
    ALBERT's, is called once per step. ``input_shape`` and ``output_shape`` are those of the last
    call. ``macs`` counts multiply-adds of all calls, of the modules below too; ``None`` where no
    analytic count is known.
    """

    path: str
    class_name: str
    input_shape: tuple[int, ...] | None
    output_shape: tuple[int, ...]
    calls: tuple[Statistics, ...]
    macs: int | None

    @property
    def statistics(self) -> Statistics:
        """The statistics of all calls together."""
        merged = self.calls[0]
        for statistics in self.calls[1:]:
            merged = merged.merge(statistics)
        return merged


@dataclass(frozen=True, slots=True)
class ActivationRun:
    """One sentence's way through the model.

    ``token_norms[i][j]`` is the Euclidean norm of token ``j``'s vector in hidden state ``i``;
    hidden state 0 is the embedding output, so a model of N layers has N + 1 of them. They are
    those that transformers gives; GPT-2's last one is taken after the final layer norm. ``None``
    stands for a norm that is not finite, and where an encoder and a decoder have different
    numbers of layers. ``check`` is ``None`` where the run was not checked.
    """

    source: SourceInfo
    sentence: Sentence
    tokenizer: TokenizerKind
    tokens: tuple[Token, ...]
    modules: tuple[ModuleActivation, ...]
    token_norms: tuple[tuple[float | None, ...], ...]
    seconds_forward: float
    seconds_total: float
    check: Check | None = None

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
        **{name: figure(statistics, name) for name in STATISTIC_NAMES},
        "macs": module.macs,
    }

"""Small models in usual and unusual configurations, for which each note has to be true."""

import functools
import inspect
from collections.abc import Callable, Collection
from functools import cached_property
from typing import Any

import torch
from msgspec import Struct
from torch import Tensor, nn

from bertviewer.core.building.configurations import build_config
from bertviewer.core.building.models import build_on_meta, build_random
from bertviewer.core.runs.recording import first_tensor
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.modules import ModuleNode
from bertviewer.core.sources.model_source import find_task
from tests.core.formulas.formula_models import DISTINCT, TINY, architecture_of

TOKENS = 12
"""The length of each sequence."""

LENGTH_KEYS = 32
"""The number of positions of models with a position table."""


class Call(Struct, frozen=True):
    """The positional and named arguments of one call, and its output."""

    arguments: list[Any]
    output: Any

    @property
    def first_output(self) -> Tensor:
        tensor = first_tensor(self.output)
        assert tensor is not None
        return tensor

    @property
    def first_input(self) -> Tensor:
        tensor = first_tensor(self.arguments)
        assert tensor is not None
        return tensor


class Case(Struct, frozen=True, dict=True):
    """A small model of a family with changes of its configuration, and a task."""

    family: str
    changes: tuple[tuple[str, Any], ...] = ()
    task: str = "base"

    def __str__(self) -> str:
        changed = ",".join(f"{key}={value}" for key, value in self.changes)
        return " ".join(filter(None, (self.family, changed, self.task)))

    @cached_property
    def values(self) -> dict[str, Any]:
        """The configuration as in a file."""
        return {"model_type": self.family, **TINY[self.family], **dict(self.changes)}

    @cached_property
    def model(self) -> Any:
        """The model with random weights, in eval mode."""
        config = build_config(self.values, "test")
        config._attn_implementation = "eager"
        return build_random(config, find_task(self.task), "test").eval()

    @property
    def architecture(self) -> Architecture:
        """The structure with flows and formulas."""
        return architecture_of(self.family, self.task, **dict(self.changes))

    def node(self, path: str) -> ModuleNode:
        """Return the module at a path."""
        return next(node for node in self.architecture.modules if node.path == path)

    def parameters_with(self, **changes: Any) -> int:
        """Return the number of parameters with further changes."""
        config = build_config({**self.values, **changes}, "test")
        model = build_on_meta(config, find_task(self.task), "test")
        return sum(parameter.numel() for parameter in set(model.parameters()))

    def moved(self, path: str, changed: int, *, side: str = "") -> set[int]:
        """Return which rows of a module's output depend on a token.

        Args:
            path: the module; its output is [1, S, D].
            changed: the position of the token.
            side: "decoder_" for a token of the target.
        """
        before, after = (
            self.calls(path, side=side, position=changed, token=token)[-1].first_output
            for token in (27, 31)
        )
        rows = (before - after).abs().amax(dim=-1)[0]
        return {row for row, size in enumerate(rows.tolist()) if size > 1e-7}

    def run(
        self, *, side: str = "", position: int = 0, token: int = 5, length: int = TOKENS
    ) -> Any:
        """Run the model, with a certain token at a position of one side."""
        with torch.no_grad():
            return self._run(side, position, token, length)

    def gradient(self, name: str, token: int) -> Tensor:
        """Return the gradient of a parameter, with a token at the first position."""
        output = first_tensor(self._run("", 0, token, TOKENS))
        assert output is not None
        # Rows of zeros have scores of 0, which have a gradient as well.
        loss = (output - 1).square().sum()
        gradient: Tensor
        (gradient,) = torch.autograd.grad(loss, self.model.get_parameter(name))
        return gradient

    def hidden_states(self, path: str) -> tuple[Tensor, ...]:
        """Return the hidden states of the stack at a path."""
        with torch.no_grad():
            output = self._run("", 0, 5, TOKENS, output_hidden_states=True)
        side = "decoder" if "decoder" in path.split(".") else "encoder"
        is_pair = self.model.config.is_encoder_decoder
        states: tuple[Tensor, ...] = output[f"{side}_hidden_states" if is_pair else "hidden_states"]
        return states

    def _run(self, side: str, position: int, token: int, length: int, **more: Any) -> Any:
        ids = {"input_ids": torch.arange(5, 5 + length)[None]}
        config = self.model.config
        if config.is_encoder_decoder:
            ids["decoder_input_ids"] = torch.arange(5, 5 + length)[None]
        if config.eos_token_id is not None:
            ids["input_ids"][0, 3 % length] = config.eos_token_id  # BART's classifier reads it
        ids[f"{side}input_ids"][0, position] = token
        if getattr(config, "add_cross_attention", False):
            ids["encoder_hidden_states"] = torch.ones(1, 5, config.hidden_size)
        # A cache would be part of the outputs.
        caches = {"use_cache": False} if "use_cache" in self.forward_parameters else {}
        return self.model(**ids, **caches, **more)

    @property
    def forward_parameters(self) -> Collection[str]:
        """The parameters of the model's forward."""
        return inspect.signature(self.model.forward).parameters

    @property
    def base(self) -> str:
        """The path of the model without its head."""
        return "" if self.task == "base" else self.model.base_model_prefix

    def calls(self, path: str, *, side: str = "", position: int = 0, token: int = 5) -> list[Call]:
        """Return the calls of a module in such a run."""
        key = side, position, token
        if key not in self._runs:
            self._runs[key] = self.recorded(side, position, token)
        return self._runs[key].get(path, [])

    @cached_property
    def _runs(self) -> dict[tuple[str, int, int], dict[str, list[Call]]]:
        return {}

    def recorded(self, side: str, position: int, token: int) -> dict[str, list[Call]]:
        found: dict[str, list[Call]] = {}
        paths = {module: path for path, module in self.model.named_modules()}

        def noted(module: nn.Module, forward: Callable[..., Any]) -> Callable[..., Any]:
            def call(*args: Any, **kwargs: Any) -> Any:
                output = forward(*args, **kwargs)
                found.setdefault(paths[module], []).append(Call([*args, *kwargs.values()], output))
                return output

            return functools.wraps(forward)(call)

        # Not hooks: SqueezeBERT calls its layers' forward() directly.
        for part in paths:
            part.forward = noted(part, part.forward)
        try:
            self.run(side=side, position=position, token=token)
        finally:
            for part in paths:
                del part.forward
        return found


def case(family: str, task: str = "base", **changes: Any) -> Case:
    """Return a case."""
    return Case(family, tuple(changes.items()), task)


HEADS: dict[str, Any] = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
DEBERTA_PLAIN: dict[str, Any] = {
    "share_att_key": False,
    "position_buckets": -1,
    "pos_att_type": ["c2p"],
}
CASES = (
    *(case(family) for family in DISTINCT),
    case("bert", is_decoder=True),
    case("bert", is_decoder=True, add_cross_attention=True),
    case("bert", type_vocab_size=1, **HEADS),
    case("bert", "masked-lm"),
    case("bert", "masked-lm", tie_word_embeddings=False),
    case("bert", "pretraining"),
    case("bert", "next-sentence"),
    case("bert", "sequence-classification", num_labels=1),
    case("bert", "sequence-classification"),
    case("bert", "token-classification"),
    case("bert", "question-answering"),
    case("roberta", "masked-lm", type_vocab_size=1),
    case("roberta", "sequence-classification"),
    case("roberta", is_decoder=True),
    case("electra", "pretraining"),
    case("electra", "masked-lm"),
    case("electra", embedding_size=24),
    case("electra", embedding_size=40),
    case("albert", embedding_size=24),
    case("albert", embedding_size=40, vocab_size=300),
    case("albert", "pretraining", num_hidden_groups=2, num_hidden_layers=4),
    case("albert", "masked-lm", classifier_dropout_prob=0.0, **HEADS),
    case("distilbert", "sequence-classification"),
    case("distilbert", "masked-lm", sinusoidal_pos_embds=True, attention_dropout=0.0),
    case("gpt2", scale_attn_weights=False),
    case("gpt2", add_cross_attention=True, attn_pdrop=0.0, resid_pdrop=0.0, embd_pdrop=0.0),
    case("gpt2", "sequence-classification"),
    case("mpnet", "masked-lm", relative_attention_num_buckets=40),
    case("mpnet", "sequence-classification"),
    case("deberta-v2", **DEBERTA_PLAIN),
    case("deberta-v2", position_biased_input=True, type_vocab_size=2),
    case("deberta-v2", "sequence-classification", pos_att_type=["p2c"], share_att_key=False),
    case("deberta-v2", "masked-lm", pos_att_type=["p2c"]),
    case("modernbert", layer_types=["full_attention"] * 4, rope_parameters=None),
    case("modernbert", layer_types=["sliding_attention"] * 4, local_attention=8),
    case("modernbert", "sequence-classification", embedding_dropout=0.1, attention_dropout=0.1),
    case("modernbert", "token-classification", norm_bias=True),
    case("bart", "masked-lm", scale_embedding=True, dropout=0.0, attention_dropout=0.1),
    case("bart", "sequence-classification"),
    case("mbart", scale_embedding=True),
    case("t5", d_kv=5, num_heads=4),
    case("t5", dropout_rate=0.0, relative_attention_num_buckets=32),
    case("t5", relative_attention_num_buckets=9, relative_attention_max_distance=20),
    case("t5", relative_attention_num_buckets=8, relative_attention_max_distance=5),
    case("t5", feed_forward_proj="gated-tanh", d_ff=200),
    case("mt5", tie_word_embeddings=False),
    case("llama", num_key_value_heads=4, attention_dropout=0.1),
    case("llama", num_key_value_heads=4, head_dim=10, intermediate_size=200),
    case("llama", hidden_act="tanh", attention_bias=True),
    case("llama", "sequence-classification"),
    case("mistral", sliding_window=None),
    case("qwen2", use_sliding_window=True, sliding_window=4, max_window_layers=0),
    case("qwen3", tie_word_embeddings=True),
    case("gemma", hidden_activation="gelu"),
    case("transformer-base", dropout=0.0),
)

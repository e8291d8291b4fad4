"""The Transformer of 2017 as a transformers model: ``torch.nn.Transformer`` with embeddings.

Vaswani et al. 2017, "Attention Is All You Need": one embedding shared by source and target and
multiplied by sqrt(d_model) (section 3.4), sinusoidal positions (section 3.5), post-norm layers.
"""

import math
import warnings
from typing import Any

from torch import Tensor, nn
from transformers.modeling_outputs import Seq2SeqModelOutput

from bertviewer.core.building.backend import torch, transformers


class TransformerBaseConfig(transformers.PreTrainedConfig):  # type: ignore[misc]
    """The base model of table 3; ``vocab_size`` is that of the shared English-German vocabulary."""

    model_type = "transformer-base"
    attribute_map = {"hidden_size": "d_model", "num_hidden_layers": "num_encoder_layers"}  # noqa: RUF012

    vocab_size: int = 37000
    d_model: int = 512
    nhead: int = 8
    num_encoder_layers: int = 6
    num_decoder_layers: int = 6
    dim_feedforward: int = 2048
    dropout: float = 0.1
    activation: str = "relu"
    max_position_embeddings: int = 512
    layer_norm_eps: float = 1e-5
    initializer_range: float = 0.02
    pad_token_id: int | None = 0
    bos_token_id: int | None = 1
    eos_token_id: int | None = 2
    is_encoder_decoder: bool = True


class TransformerBaseModel(transformers.PreTrainedModel):  # type: ignore[misc]
    """Source and target token ids in, the decoder's last hidden state out."""

    config_class = TransformerBaseConfig
    base_model_prefix = "model"
    main_input_name = "input_ids"

    def __init__(self, config: TransformerBaseConfig) -> None:
        super().__init__(config)
        self.embedding = nn.Embedding(config.vocab_size, config.d_model)
        self.dropout = nn.Dropout(config.dropout)
        with warnings.catch_warnings():
            # An odd number of heads rules out a fast path that is never taken here anyway.
            warnings.filterwarnings("ignore", message="enable_nested_tensor")
            self.transformer = nn.Transformer(
                d_model=config.d_model,
                nhead=config.nhead,
                num_encoder_layers=config.num_encoder_layers,
                num_decoder_layers=config.num_decoder_layers,
                dim_feedforward=config.dim_feedforward,
                dropout=config.dropout,
                activation=config.activation,
                layer_norm_eps=config.layer_norm_eps,
                batch_first=True,
            )
        self.post_init()

    def embed(self, ids: Tensor) -> Tensor:
        """Look ids [B, S] up, scale and add positions: [B, S, d_model]."""
        width = self.config.d_model
        scaled = self.embedding(ids) * math.sqrt(width)
        positions = sinusoidal_positions(ids.shape[1], width).to(scaled)
        return self.dropout(scaled + positions)  # type: ignore[no-any-return]

    def forward(
        self,
        input_ids: Tensor,
        decoder_input_ids: Tensor,
        output_hidden_states: bool = False,
        return_dict: bool = True,
    ) -> Any:
        """Run source ids [B, S] and target ids [B, T] through encoder and decoder."""
        source, target = self.embed(input_ids), self.embed(decoder_input_ids)
        encoded, decoded = [source], [target]
        hooks = [
            layer.register_forward_hook(lambda _m, _a, out, states=states: states.append(out))
            for layers, states in (
                (self.transformer.encoder.layers, encoded),
                (self.transformer.decoder.layers, decoded),
            )
            for layer in layers
            if output_hidden_states  # else they would be kept for nothing
        ]
        causal = nn.Transformer.generate_square_subsequent_mask(target.shape[1])
        try:
            last = self.transformer(source, target, tgt_mask=causal.to(target))
        finally:
            for hook in hooks:
                hook.remove()
        return Seq2SeqModelOutput(
            last_hidden_state=last,
            encoder_hidden_states=tuple(encoded) if output_hidden_states else None,
            decoder_hidden_states=tuple(decoded) if output_hidden_states else None,
        )


def sinusoidal_positions(length: int, width: int) -> Tensor:
    """Return the fixed position encodings [length, width] of section 3.5."""
    position = torch.arange(length, dtype=torch.float32).unsqueeze(1)
    even = torch.arange(0, width, 2, dtype=torch.float32)
    angle = position * torch.exp(even * (-math.log(10_000.0) / width))
    encoding = torch.zeros(length, width)
    encoding[:, 0::2] = torch.sin(angle)
    encoding[:, 1::2] = torch.cos(angle[:, : width // 2])
    return encoding


def register() -> None:
    """Make transformers' Auto classes know the model type ``transformer-base``."""
    transformers.AutoConfig.register("transformer-base", TransformerBaseConfig, exist_ok=True)
    transformers.AutoModel.register(TransformerBaseConfig, TransformerBaseModel, exist_ok=True)

"""``python -m tests.kv_caches``: compares formulas of cache memory with transformers' real caches.

Small random models of many types read a prompt and generate a few tokens; the bytes of all floating
point tensors that their cache then holds have to be those of the formula, for several lengths,
batch sizes and dtypes.
"""

import argparse
import logging
import sys
import warnings
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from transformers.modeling_outputs import BaseModelOutput

from bertviewer.core.building.backend import torch, transformers
from bertviewer.core.building.configurations import build_config, plain_config
from bertviewer.core.building.models import build_random
from bertviewer.core.expressions.symbols import other_symbols_of, symbols_of
from bertviewer.core.loading.deriving import builder, with_counts
from bertviewer.core.loading.meta_model import inspect_module
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.source_info import SourceInfo
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.symbolic.kv_cache import cached_tensors, derive_kv_cache
from bertviewer.core.util.progress import no_progress

DECODERS = """
gpt2 gpt_neo gpt_neox gptj gpt_bigcode codegen opt bloom mpt falcon llama mistral mixtral gemma
gemma2 gemma3_text gemma3n_text qwen2 qwen3 qwen2_moe phi phi3 olmo2 stablelm starcoder2 cohere2
gpt_oss deepseek_v2 deepseek_v3 minimax mamba falcon_mamba mamba2 rwkv llama4_text jamba bamba lfm2
""".split()  # noqa: SIM905 - a word a line would take forty
PAIRS = """
t5 mt5 umt5 bart mbart marian pegasus blenderbot m2m_100 plbart led prophetnet
""".split()  # noqa: SIM905 - a word a line would take a dozen
STEPS = 3
RUNS = ((1, 4, 5), (3, 13, 7))
"""Batch size, tokens of the prompt, and tokens of the decoder where there is an encoder."""

_TINY: Mapping[str, Any] = {
    **dict.fromkeys(("vocab_size", "src_vocab_size", "tgt_vocab_size"), 99),
    **dict.fromkeys(("hidden_size", "d_model", "n_embd", "word_embed_proj_dim"), 32),
    **dict.fromkeys(("num_hidden_layers", "n_layer", "n_layers", "num_layers"), 4),
    **dict.fromkeys(("encoder_layers", "num_encoder_layers"), 2),
    **dict.fromkeys(("decoder_layers", "num_decoder_layers"), 3),
    **dict.fromkeys(("num_attention_heads", "n_head", "n_heads", "num_heads"), 4),
    **dict.fromkeys(("encoder_attention_heads", "decoder_attention_heads"), 4),
    **dict.fromkeys(("num_encoder_attention_heads", "num_decoder_attention_heads"), 4),
    **dict.fromkeys(("intermediate_size", "ffn_dim", "d_ff", "encoder_ffn_dim"), 48),
    **dict.fromkeys(("decoder_ffn_dim", "moe_intermediate_size", "intermediate_size_mlp"), 48),
    **dict.fromkeys(("max_position_embeddings", "n_positions", "max_seq_len", "n_ctx"), 64),
    **dict.fromkeys(("num_local_experts", "num_experts", "n_routed_experts"), 4),
    **dict.fromkeys(("sliding_window", "attention_chunk_size", "window_size"), 6),
    **dict.fromkeys(("mamba_d_ssm", "mamba_n_heads", "mamba_d_state"), 8),
    "num_key_value_heads": 2,
    "head_dim": 8,
    "d_kv": 8,
    "rotary_dim": 4,
    "kv_lora_rank": 12,
    "q_lora_rank": 12,
    "qk_rope_head_dim": 8,
    "qk_nope_head_dim": 6,
    "v_head_dim": 10,
    "n_group": 1,
    "topk_group": 1,
    "num_experts_per_tok": 2,
    "first_k_dense_replace": 1,
    "vocab_size_per_layer_input": 99,
    "hidden_size_per_layer_input": 8,
    "num_kv_shared_layers": 1,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 1,
}
_MORE: Mapping[str, Mapping[str, Any]] = {
    "bamba": {"attn_layer_indices": [1, 3], "mamba_n_heads": 8, "mamba_d_head": 8},
    "deepseek_v2": {"num_key_value_heads": 4},
    "deepseek_v3": {"num_key_value_heads": 4},
    "gemma3n_text": {"activation_sparsity_pattern": [0.0] * 4, "intermediate_size": [48] * 4},
    "gpt_neo": {"attention_types": [[["global", "local"], 2]]},
    "jamba": {"attn_layer_offset": 1, "attn_layer_period": 2},
    "lfm2": {"layer_types": ["conv", "full_attention"] * 2},
    "led": {"attention_window": [4, 4], "max_encoder_position_embeddings": 64,
            "max_decoder_position_embeddings": 64},
    "mamba": {"state_size": 5},
    "mamba2": {"num_heads": 8, "head_dim": 8, "expand": 2, "n_groups": 2, "state_size": 5},
    "prophetnet": {"num_encoder_layers": 2, "num_decoder_layers": 2},
    "rwkv": {"attention_hidden_size": 32},
}  # fmt: skip


class Finding(Struct, frozen=True):
    """What became of one type: its formula, the runs that were compared, and those that differ."""

    name: str
    formula: str
    runs: int
    mistakes: tuple[str, ...]


def tiny_config(name: str) -> dict[str, Any]:
    """Return a configuration of a type that takes no time to build."""
    known = transformers.AutoConfig.for_model(name).to_dict()
    config = {key: value for key, value in _TINY.items() if key in known}
    return {"model_type": name, **config, **_MORE.get(name, {})}


@cache
def derived(name: str) -> tuple[Architecture, dict[str, int]]:
    """Return a small model's architecture with its cache, and the values of all its numbers."""
    source = parse_source("bert-base-uncased")  # only its task is used
    build = builder(source)
    model = build(tiny_config(name))
    config = plain_config(model.config, name)
    found = inspect_module(model, SourceInfo("config", name, "base", "none"), config)
    counted = with_counts(found, source, no_progress)
    values = {s.name: s.value for s in (*symbols_of(config), *other_symbols_of(config))}
    return replace(counted, kv_cache=derive_kv_cache(counted, build)), values


def examine(name: str, dtypes: tuple[str, ...] = ("float32", "bfloat16")) -> Finding:
    """Compare the formula of one type with real caches."""
    architecture, values = derived(name)
    found = architecture.kv_cache
    if found is None:
        return Finding(name, "", 0, ("no formula was found",))
    mistakes: list[str] = []
    runs = 0
    task = parse_source("bert-base-uncased").task
    for dtype in dtypes:
        model = build_random(build_config(architecture.config, name), task, name)
        model.to(getattr(torch, dtype)).eval()
        for sizes in RUNS:
            for lengths, real in _generated(model, *sizes):
                runs += 1
                given = found.bytes({**values, **lengths}, dtype)
                if given != real:
                    about = ", ".join(f"{letter} = {size}" for letter, size in lengths.items())
                    mistakes.append(f"{given} bytes for {about} in {dtype}, the cache has {real}")
    return Finding(name, found.formula, runs, tuple(mistakes))


def _generated(
    model: Any, batch: int, tokens: int, target: int
) -> Iterator[tuple[dict[str, int], int]]:
    """Yield the lengths and the bytes in the cache after the prompt and after each token."""
    is_pair = bool(model.config.is_encoder_decoder)
    prompt = torch.full((batch, tokens), 5)
    arguments: dict[str, Any] = {"input_ids": prompt, "use_cache": True, "return_dict": True}
    if is_pair:
        arguments["decoder_input_ids"] = torch.full((batch, target), 5)
    with torch.no_grad():
        output = model(**arguments)
        plain = model(**{**arguments, "use_cache": False})
        for step in range(STEPS + 1):
            entries = output.keys() - plain.keys()
            size = sum(
                tensor.numel() * tensor.element_size()
                for entry in entries
                for _, tensor in cached_tensors(output[entry], entry)
            )
            if is_pair:
                yield {"B": batch, "S": tokens, "S_d": target + step}, size
            else:
                yield {"B": batch, "S": tokens + step}, size
            one = torch.full((batch, 1), 6)
            given = {entry: output[entry] for entry in entries}
            if is_pair:
                encoded = output.encoder_last_hidden_state
                given["encoder_outputs"] = BaseModelOutput(last_hidden_state=encoded)
            arguments["decoder_input_ids" if is_pair else "input_ids"] = one
            output = model(**{**arguments, **given})


def main(arguments: list[str] | None = None) -> int:
    """Examine the named types, or all, and print a line for each."""
    parser = argparse.ArgumentParser(prog="python -m tests.kv_caches", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="model types; all if none")
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    wrong = right = 0
    for name in parser.parse_args(arguments).names or [*DECODERS, *PAIRS]:
        try:
            found = examine(name)
        except Exception as error:  # noqa: BLE001 - any kind of error is a finding
            found = Finding(
                name, "", 0, (f"{type(error).__name__}: {' '.join(str(error).split())}",)
            )
        wrong += bool(found.mistakes)
        right += not found.mistakes
        mark = "WRONG" if found.mistakes else "right"
        print(f"{name:20} {mark} {found.runs:3} runs  {found.formula[:110]}", flush=True)  # noqa: T201
        for mistake in found.mistakes[:3]:
            print(f"    {mistake[:300]}", flush=True)  # noqa: T201
    print(f"{right} types right, {wrong} not")  # noqa: T201
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())

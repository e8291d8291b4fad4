"""The models of the record: presets, tiny configurations, and tiny folders with weights."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

TEXTS = ("summary", "formulas", "walkthrough", "costs", "whatif", "flow", "run", "report")
"""The kinds of records of one model; ``compare`` is of two, ``pictures`` are no texts."""

_OF_LARGE = ("summary", "formulas", "walkthrough", "costs", "whatif", "flow")
_IDS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
_SENTENCE = "the cat sat on the mat"


class Example(Struct, frozen=True):
    """A model of the record.

    Attributes:
        name: of the model in the record.
        source: what is opened: a preset's name, or a folder in the record.
        task: its head, as ``--task`` takes it.
        pair: the second sentence of its run.
        kinds: which kinds of records it has.
        model_type: of a configuration, empty of a preset.
        saved: whether weights and a tokenizer are saved, else only a configuration.
        dtype: of the saved weights.
    """

    name: str
    source: str
    task: str = "base"
    pair: str | None = None
    kinds: tuple[str, ...] = TEXTS
    model_type: str = ""
    saved: bool = False
    dtype: str = "float32"
    sentence: str = _SENTENCE


_PRESETS = (
    "bert-base-uncased", "bert-base-chinese", "bert-large-uncased", "bert-large-chinese",
    "albert-base-v2", "distilbert-base-uncased", "electra-base-discriminator", "gpt2",
    "roberta-base", "transformer-base",
)  # fmt: skip
_HEADS = {
    "bert": (
        "masked-lm", "sequence-classification", "pretraining", "token-classification",
        "question-answering", "next-sentence",
    ),
    "roberta": ("masked-lm",),
    "electra": ("pretraining",),
    "albert": ("masked-lm",),
    "distilbert": ("question-answering",),
    "gpt2": ("causal-lm",),
    "llama": ("causal-lm",),
    "bart": ("sequence-classification",),
    "gpt_oss": ("causal-lm",),
}  # fmt: skip
_SAVED = (
    ("bert", "masked-lm", "float32"),
    ("bert", "base", "float16"),
    ("bert", "base", "bfloat16"),
    ("roberta", "base", "float32"),
    ("electra", "base", "float32"),
    ("deberta-v2", "base", "float32"),
    ("gpt2", "causal-lm", "float32"),
    ("llama", "causal-lm", "float32"),
    ("gpt_neox", "causal-lm", "float32"),
    ("mixtral", "base", "float32"),
    ("t5", "base", "float32"),
    ("bart", "base", "float32"),
    ("transformer-base", "base", "float32"),
)
_PAIRS = (
    ("bert-base-uncased", "bert-large-uncased"),
    ("saved-bert-base-float16", "saved-bert-base-bfloat16"),
    ("saved-bert-masked-lm", "saved-electra-base"),
)


def _own() -> dict[str, dict[str, Any]]:
    """Return tiny configurations of types that no test has."""
    from tests.core.formulas.formula_models import TINY

    decoder = {**TINY["llama"], "vocab_size": 97, "num_hidden_layers": 2}
    return {
        "longformer": {**TINY["bert"], **_IDS, "sep_token_id": 2, "attention_window": 4},
        "nystromformer": {
            # As many landmarks as positions, as by default: else few lengths of sentences fit.
            **TINY["bert"], **_IDS, "num_landmarks": 64, "conv_kernel_size": 3,
        },
        "whisper": {
            **TINY["bart"], **_IDS, "decoder_start_token_id": 1, "num_mel_bins": 8,
            "max_source_positions": 16, "max_target_positions": 16,
            "begin_suppress_tokens": [2, 3],
        },
        "gpt_oss": {
            **decoder, "head_dim": 8, "num_local_experts": 4, "num_experts_per_tok": 2,
            "sliding_window": 5, "layer_types": ["sliding_attention", "full_attention"],
        },
        "deepseek_v3": {
            **decoder, "num_key_value_heads": 4, "n_routed_experts": 8, "n_group": 2,
            "topk_group": 1, "num_experts_per_tok": 2, "moe_intermediate_size": 20,
            "first_k_dense_replace": 1, "kv_lora_rank": 8, "q_lora_rank": 12,
            "qk_rope_head_dim": 4, "qk_nope_head_dim": 6, "v_head_dim": 6,
        },
        "gpt_neox": {
            **TINY["bert"], **_IDS, "hidden_size": 32, "num_attention_heads": 4,
        },
        "phi": {**decoder, "hidden_size": 32, "num_key_value_heads": 4},
    }  # fmt: skip


def _configurations() -> dict[str, dict[str, Any]]:
    """Return the tiny configurations by model type."""
    from tests.core.formulas.formula_models import OTHERS, TINY
    from tests.core.walkthrough.small_walkthroughs import SMALL

    found = {**SMALL, **OTHERS, **TINY, **_own()}
    del found["funnel"]  # how much is derived of it depends on the time that the machine takes
    return found


def _examples() -> Iterator[Example]:
    for name in _PRESETS:
        yield Example(name, name, kinds=_OF_LARGE)
    yield Example("demo", "demo", pair="it slept")
    for name in _configurations():
        tiny = f"tiny-{name.replace('_', '-')}"
        yield Example(tiny, tiny, model_type=name)
    for name, tasks in _HEADS.items():
        for task in tasks:
            pair = "it slept" if task in ("next-sentence", "pretraining") else None
            tiny = f"tiny-{name.replace('_', '-')}"
            yield Example(f"{tiny}-{task}", tiny, task, pair, model_type=name)
    for name, task, dtype in _SAVED:
        shown = f"saved-{name.replace('_', '-')}-{task}"
        if dtype != "float32":
            shown += f"-{dtype}"
        pair = "the mat is a test" if name == "bert" else None
        yield Example(shown, shown, task, pair, model_type=name, saved=True, dtype=dtype)


def matches(name: str, patterns: Sequence[str]) -> bool:
    """Tell whether a model is meant: by its name, or what that begins with after its first word.

    ``bert`` means presets, tiny and saved models of that type with all heads.
    """
    short = name.removeprefix("tiny-").removeprefix("saved-")
    return not patterns or any(
        fnmatch(name, pattern) or fnmatch(short, pattern) or short.startswith(f"{pattern}-")
        for pattern in patterns
    )


def write_models(folder: Path) -> None:
    """Write all models into a folder, with a table of them, so that every comparison has the same.

    Args:
        folder: an empty one.
    """
    configurations = _configurations()
    examples = tuple(_examples())
    for example in examples:
        place = folder / example.source
        if not example.model_type or place.exists():
            continue
        place.mkdir(parents=True)
        config = configurations[example.model_type]
        if example.saved:
            _save(example, config, place)
        else:
            data = {**config, "model_type": example.model_type}
            (place / "config.json").write_text(json.dumps(data, indent=1), "utf-8")
    table = {"models": [asdict(example) for example in examples], "pairs": _PAIRS}
    (folder / "models.json").write_text(json.dumps(table, indent=1), "utf-8")


def read_models(folder: Path) -> tuple[tuple[Example, ...], tuple[tuple[str, str], ...]]:
    """Return the models of a record, and the pairs of them that are compared."""
    table = json.loads((folder / "models.json").read_text("utf-8"))
    examples = (Example(**{**entry, "kinds": tuple(entry["kinds"])}) for entry in table["models"])
    return tuple(examples), tuple((left, right) for left, right in table["pairs"])


def _save(example: Example, config: Mapping[str, Any], folder: Path) -> None:
    """Save a model whose norms and biases are random too, with a tokenizer."""
    import torch
    import transformers

    from bertviewer.core.building.transformer_base import register
    from bertviewer.core.sources.model_source import find_task

    register()
    size = _TOKENIZERS.get(example.model_type, _word_pieces)(folder)
    values = {**config, **_SPECIAL.get(example.model_type, {}), "vocab_size": size}
    auto = getattr(transformers, find_task(example.task).auto_class)
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(5)
        model = auto.from_config(transformers.AutoConfig.for_model(example.model_type, **values))
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    model.to(getattr(torch, example.dtype)).save_pretrained(folder)


_SPECIAL: Mapping[str, Mapping[str, int]] = {
    "bart": {"bos_token_id": 0, "pad_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 2},
    "t5": {"pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0},
}


def _word_pieces(folder: Path) -> int:
    from tests.conftest import write_tiny_bert

    write_tiny_bert(folder)  # its model is replaced
    return len((folder / "vocab.txt").read_text("utf-8").split())


def _fast(tokenizer: Any, names: Mapping[str, str], folder: Path) -> int:
    import transformers

    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_input_names=["input_ids", "attention_mask"],
        **{f"{role}_token": name for role, name in names.items()},
    )
    fast.save_pretrained(folder)
    return len(fast)


def _byte_level(folder: Path) -> int:
    from tests.core.tokenization.small_tokenizers import NAMES, byte_level

    return _fast(byte_level(), NAMES["roberta"], folder)


def _unigram(folder: Path) -> int:
    from tests.core.tokenization.small_tokenizers import NAMES, unigram

    return _fast(unigram(), NAMES["sentencepiece"], folder)


_TOKENIZERS: Mapping[str, Callable[[Path], int]] = {
    "bart": _byte_level,
    "roberta": _byte_level,
    "gpt2": _byte_level,
    "llama": _byte_level,
    "mixtral": _byte_level,
    "gpt_neox": _byte_level,
    "t5": _unigram,
}

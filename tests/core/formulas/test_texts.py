"""What formulas say of modules of many families, compared with golden files, and its conditions.

Each file ``tests/golden/formulas-*.txt`` has sections ``## model: module`` with the title, summary,
lines, symbols, notes and source of a formula; ``formulas-steps.txt`` has plain steps, also of
modules with a template. To add a module, add a heading and run pytest with ``--overwrite-golden``.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bertviewer.core.formulas.formula import Formula
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.steps.lines import formula_of_steps
from bertviewer.core.schema.architecture import Architecture
from tests.core.formulas.formula_models import TINY, architecture_of, formula_at, node_at
from tests.core.formulas.test_attention_numbers import GPT, LATENT, SMALL
from tests.core.graph.readers import parsed_heading

SOUND: dict[str, Any] = {
    **{**SMALL, "d_model": 32, "encoder_layers": 1, "decoder_layers": 1, "num_mel_bins": 8},
    **{"encoder_attention_heads": 4, "decoder_attention_heads": 4, "max_source_positions": 20},
    **{"encoder_ffn_dim": 40, "decoder_ffn_dim": 40},
}
IMAGE: dict[str, Any] = {
    **{"hidden_size": 24, "num_hidden_layers": 1, "num_attention_heads": 3},
    **{"intermediate_size": 40, "image_size": 4, "patch_size": 2},
}
GPT_NEO = {
    **{"vocab_size": 97, "hidden_size": 32, "num_layers": 2, "num_heads": 4, "window_size": 5},
    "attention_types": [[["global", "local"], 1]],
}
CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "pegasus": TINY["bart"],
    "umt5": {**TINY["t5"], "feed_forward_proj": "relu"},
    "longformer": {**SMALL, "attention_window": 4},
    "nystromformer": {**SMALL, "segment_means_seq_len": 12, "num_landmarks": 4},
    "mpt": {**SMALL, "d_model": 32, "n_heads": 4, "n_layers": 1},
    "gpt_neo": GPT_NEO,
    "codegen": {**GPT, "rotary_dim": 4},
    "whisper": SOUND,
    "deepseek_v3": LATENT,
    "layoutlmv3": {**SMALL, "coordinate_size": 4, "shape_size": 8, "input_size": 32},
    "glm4": {**SMALL, "num_key_value_heads": 1, "head_dim": 8},
    "beit": IMAGE,
    "deit": IMAGE,
    "dinov2": {**IMAGE, "mlp_ratio": 2},
    "clip_vision_model": {**IMAGE, "projection_dim": 16},
    "aimv2_vision_model": {**IMAGE, "image_size": 28},
}
"""Configurations of families that ``architecture_of`` does not have."""

SHORT = 24
"""Characters of texts that are repeated in a file."""

GOLDEN = Path(__file__).parents[2] / "golden"


def architecture_at(heading: str) -> Architecture:
    family, task, changes = parsed_heading(heading)
    return architecture_of(family, task, **{**CONFIGURATIONS.get(family, {}), **changes})


def steps_at(architecture: Architecture, path: str) -> Formula:
    formula = formula_of_steps(ModuleView.of(node_at(architecture, path), architecture))
    assert formula is not None
    return formula


def text_of(formula: Formula, seen: set[str]) -> Iterator[str]:
    """Yield the lines of a formula; texts that were seen before are shortened."""

    def once(text: str) -> str:
        is_new = text not in seen
        seen.add(text)
        return text if is_new or len(text) <= SHORT else f"{text[:SHORT]}…"

    yield once(f"{formula.title}. {formula.summary}")
    yield from (f"    {line}" for line in formula.maths)
    for term in formula.terms:
        yield f"{term.symbol}: {once(term.meaning)}" + (f" = {term.value}" if term.value else "")
    yield from (f"- {once(note)}" for note in formula.notes)
    yield f"Source: {once(formula.source)}"
    if formula.config_keys:
        yield f"Keys: {', '.join(formula.config_keys)}"


@pytest.mark.parametrize("name", sorted(file.name for file in GOLDEN.glob("formulas-*.txt")))
def test_texts(name: str, golden: Callable[[str, str], None]) -> None:
    headings = re.findall(r"^## (.+): (.*)$", (GOLDEN / name).read_text("utf-8"), re.MULTILINE)
    find = steps_at if "steps" in name else formula_at
    seen: set[str] = set()
    sections = (
        "\n".join((f"## {model}: {path}", *text_of(formula, seen), ""))
        for model, path in headings
        for formula in [find(architecture_at(model), path.replace("(model)", ""))]
    )
    golden(name, "\n".join(sections))


# BigBird's code attends to the encoder in both of its attentions.
@pytest.mark.parametrize("family", ["bert", "roformer", "esm"])
def test_cross_attention_differs_from_self_attention(family: str) -> None:
    architecture = architecture_of(family, is_decoder=True, add_cross_attention=True)
    for name, is_cross in (("attention", False), ("crossattention", True)):
        for path in (f"encoder.layer.1.{name}", f"encoder.layer.1.{name}.self"):
            maths = node_at(architecture, path).forward_formula or ""
            assert ('X_"enc"' in maths) is is_cross, path


@pytest.mark.parametrize("tokens", [2, 12, 16])
def test_global_tokens_are_not_a_position_table(tokens: int) -> None:
    """Pegasus-X may have as many global tokens as the traced text has tokens."""
    architecture = architecture_of(
        "pegasus_x", **{**TINY["bart"], "block_size": 16, "num_global_tokens": tokens}
    )
    encoder = formula_at(architecture, "encoder")
    assert not [note for note in encoder.notes if "osition table" in note or "enter" in note]
    assert 'W_"pos"' not in " ".join(encoder.maths)
    summary = formula_at(architecture, "encoder.embed_global").summary
    assert summary == "Maps each index to a learnt vector."


def test_an_encoder_of_unknown_attention_is_not_a_decoder() -> None:
    lengths: dict[str, Any] = {
        "max_encoder_position_embeddings": 64,
        "max_decoder_position_embeddings": 64,
    }
    led = architecture_of("led", **TINY["bart"], **lengths, attention_window=[8, 8])
    encoder, decoder = (formula_at(led, path) for path in ("encoder", "decoder"))
    assert encoder.title == "Encoder with its embeddings"
    assert not [note for note in encoder.notes if "causal" in note]
    assert decoder.title == "Decoder with its embeddings"
    assert [note for note in decoder.notes if "Attention is causal" in note]


def test_positions_of_an_image_are_not_tokens() -> None:
    # Nine patches, [CLS] and two registers: as many as the traced text has tokens.
    image = {**IMAGE, "image_size": 6, "num_register_tokens": 2}
    architecture = architecture_of("dinov2_with_registers", **image)
    for path in ("", "encoder", "encoder.layer.0", "encoder.layer.0.mlp"):
        (term, *_) = formula_at(architecture, path).terms
        assert (term.symbol, term.meaning.partition(" (")[0]) == ("S", "number of positions")


def test_sizes_may_be_lists_with_one_for_each_stage() -> None:
    assert architecture_of("cvt").root.forward_formula is not None

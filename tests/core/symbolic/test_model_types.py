"""Model types of transformers: they open, count exactly, and have verified formulas.

These are types with different mechanisms that are quick to build; ``python -m tests.families``
examines all types.
"""

from pathlib import Path

import pytest

from tests.families.counting import examine

TYPES = """
big_bird bloom canine deberta-v2 falcon funnel glm5_next_text gpt_oss granitemoe lfm2 longformer
mamba mra rwkv squeezebert transformer-base xlm xlnet xmod yoso
audioflamingo3_encoder autoformer data2vec-vision decision_transformer dpt layoutlmv3 patchtsmixer
qwen2_5_vl_vision speecht5 timesfm vilt vit_mae vjepa2
""".split()  # noqa: SIM905 - one item per line would take 33 lines


@pytest.mark.parametrize("model_type", TYPES)
def test_a_type_counts_exactly_and_has_formulas(model_type: str, tmp_path: Path) -> None:
    found = examine(model_type, tmp_path, fresh=2)
    assert found.is_whole, found.causes
    assert found.mistakes == ()


@pytest.mark.parametrize("model_type", ["xlnet", "vilt", "vit_mae"])
def test_a_type_opens_with_all_formulas(model_type: str, tmp_path: Path) -> None:
    assert examine(model_type, tmp_path).is_whole

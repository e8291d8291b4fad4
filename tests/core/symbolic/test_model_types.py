"""A broad sample of transformers' own model types: they open, count exactly, and have formulas.

``python -m tests.families`` walks all of them; these are the ones that are quick to build, and some
that are known to be without.
"""

from pathlib import Path

import pytest

from tests.families.counting import CountFinding, examine
from tests.tools.small_models import model_types

SAMPLE = """
albert bart bert big_bird bitnet bloom canine codegen convbert ctrl deberta-v2 distilbert electra
esm falcon fnet gemma2 glm5_next_text gpt2 gpt_oss granitemoe lfm2 lilt longformer mamba marian
mixtral modernbert mpt mra nemotron opt phi qwen2_moe rembert roformer rwkv splinter squeezebert t5
transformer-base xlm xlnet xmod yoso
clip_vision_model data2vec-vision dpt imagegpt qwen2_5_vl_vision vit vit_mae vjepa2
audioflamingo3_encoder autoformer bamba decision_transformer layoutlmv3 patchtsmixer speecht5
timesfm vilt visual_bert
""".split()  # noqa: SIM905 - a word a line would take a hundred

ENOUGH = 0.95


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> tuple[CountFinding, ...]:
    """Open, count and explain every type of the sample."""
    folder = tmp_path_factory.mktemp("model-types")
    return tuple(_examine(name, folder) for name in SAMPLE)


def _examine(name: str, folder: Path) -> CountFinding:
    (folder / name).mkdir()
    return examine(name, folder / name)


def test_the_sample_is_broad() -> None:
    assert len(SAMPLE) == len(set(SAMPLE)) >= 60
    assert set(SAMPLE) <= set(model_types())


def test_all_open_and_count_exactly(findings: tuple[CountFinding, ...]) -> None:
    assert [(f.model_type, f.error) for f in findings if f.error] == []
    assert [f.model_type for f in findings if not f.exact] == []


def test_nearly_all_have_proven_formulas(findings: tuple[CountFinding, ...]) -> None:
    without = [finding for finding in findings if not finding.is_whole]
    for finding in without:
        # Shown by pytest -s, and whenever this fails.
        print(f"{finding.model_type}: {finding.proven} of {finding.modules} modules")  # noqa: T201
        for cause in finding.causes:
            print(f"    {cause[:200]}")  # noqa: T201
    assert len(without) <= (1 - ENOUGH) * len(findings)
    # A module without a formula always says why.
    assert all(finding.causes for finding in without)

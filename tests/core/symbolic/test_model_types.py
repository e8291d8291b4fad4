"""A broad sample of transformers' own model types: they open, count exactly, and have formulas.

``python -m tests.families`` walks all of them; these are the ones that are quick to build, and some
that are known to be without.
"""

from pathlib import Path

import pytest

from tests.examined import Finding, examine
from tests.small_models import model_types, small_configuration

TEXT = """
albert bart bert bert-generation big_bird biogpt bitnet bloom camembert canine codegen cohere
convbert ctrl deberta deberta-v2 distilbert electra ernie4_5 esm eurobert falcon fnet gemma gemma2
glm5_next_text gpt2 gpt_bigcode gpt_neox gpt_oss gptj granite granitemoe lfm2 lilt llama longformer
mamba marian mbart megatron-bert mistral mixtral modernbert mpnet mpt mra mt5 nemotron olmo
openai-gpt opt phi qwen2 qwen2_moe qwen3 rembert roberta roformer rwkv splinter squeezebert stablelm
starcoder2 t5 transformer-base xglm xlm xlm-roberta xlnet xmod yoso
""".split()  # noqa: SIM905 - a word a line would take a hundred
VISION = """
aimv2_vision_model clip_vision_model data2vec-vision deit dpt ijepa imagegpt qwen2_5_vl_vision
siglip_vision_model smolvlm_vision vit vit_mae vit_msn vjepa2
""".split()  # noqa: SIM905 - a word a line would take a hundred
OTHERS = """
audioflamingo3_encoder autoformer bamba clip_text_model decision_transformer glmasr_encoder
layoutlmv3 patchtsmixer qwen2_audio_encoder speecht5 timesfm vilt visual_bert voxtral_encoder
""".split()  # noqa: SIM905 - a word a line would take a hundred
SAMPLE = (*TEXT, *VISION, *OTHERS)

ENOUGH = 0.95


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> tuple[Finding, ...]:
    """Open, count and explain every type of the sample."""
    folder = tmp_path_factory.mktemp("model-types")
    return tuple(_examine(name, folder) for name in SAMPLE)


def _examine(name: str, folder: Path) -> Finding:
    (folder / name).mkdir()
    return examine(small_configuration(name), folder / name)


def test_the_sample_is_broad() -> None:
    assert len(SAMPLE) == len(set(SAMPLE)) >= 100
    assert set(SAMPLE) <= set(model_types())


def test_all_open_and_count_exactly(findings: tuple[Finding, ...]) -> None:
    assert [(f.model_type, f.error) for f in findings if f.error] == []
    assert [f.model_type for f in findings if not f.exact] == []


def test_nearly_all_have_proven_formulas(findings: tuple[Finding, ...]) -> None:
    without = [finding for finding in findings if not finding.is_whole]
    for finding in without:
        # Shown by pytest -s, and whenever this fails.
        print(f"{finding.model_type}: {finding.proven} of {finding.modules} modules")  # noqa: T201
        for cause in finding.causes:
            print(f"    {cause[:200]}")  # noqa: T201
    assert len(without) <= (1 - ENOUGH) * len(findings)
    # A module without a formula always says why.
    assert all(finding.causes for finding in without)

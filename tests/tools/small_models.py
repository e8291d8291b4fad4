"""A small variant of any model type that transformers' AutoModel accepts, from its defaults."""

from collections.abc import Mapping
from typing import Any

from bertviewer.core.building.backend import torch, transformers
from bertviewer.core.expressions.symbols import is_depth
from bertviewer.core.symbolic.models import goes_by_layer

FEW = 3
"""So many layers, so that the first, the ones between and the last can differ."""


_RESNET = {"model_type": "resnet", "out_features": ["stage2", "stage3", "stage4"]}
_WITH_RESNET = {
    "use_timm_backbone": False,
    "use_pretrained_backbone": False,
    "backbone": None,
    "backbone_config": _RESNET,
}
_WITH_LAST_STAGE = {**_WITH_RESNET, "backbone_config": {**_RESNET, "out_features": ["stage4"]}}

_MROPE = {
    "rope_parameters": {
        "rope_type": "default",
        "rope_theta": 10000.0,
        "partial_rotary_factor": 0.5,
        "mrope_section": [8, 12, 12],
    }
}
_XDROPE = {
    "rope_parameters": {
        "rope_type": "default",
        "rope_theta": 10000.0,
        "xdrope_section": [16, 16, 16, 16],
    }
}
_ROPE = {"rope_type": "default", "rope_theta": 10000.0}
_COMPASS = {"rope_parameters": {"full_attention": _ROPE, "sliding_attention": _ROPE}}

LACKING: Mapping[str, Mapping[str, Any]] = {
    "autoformer": {"prediction_length": 24},
    "aya_vision": {
        "vision_config": {"model_type": "siglip_vision_model", "num_attention_heads": 16}
    },
    "blip-2": {"image_token_index": 50265},
    "chameleon": {"vocabulary_map": {"<image>": 4}},
    "cohere_compass": {"text_config": _COMPASS},
    "cohere_compass_text": _COMPASS,
    "conditional_detr": _WITH_LAST_STAGE,
    "dab-detr": _WITH_LAST_STAGE,
    "dbrx": {"attn_config": {"rope_theta": 10000.0, "clip_qkv": 8}},
    "deepseek_ocr2": {
        "text_config": {
            "mlp_layer_types": ["dense"] + ["sparse"] * 11,
            "num_experts_per_tok": 6,
        }
    },
    "deepseek_v2": {"num_experts_per_tok": 6},
    "deformable_detr": _WITH_RESNET,
    "detr": _WITH_LAST_STAGE,
    "diffusion_gemma": {
        "text_config": {"num_experts": 8, "moe_intermediate_size": 704, "top_k_experts": 2}
    },
    "dots1": {"n_routed_experts": 8, "n_shared_experts": 1, "num_experts_per_tok": 2},
    "emu3": {"vocabulary_map": {"<image>": 4}},
    "esm": {"vocab_size": 33, "pad_token_id": 1},
    "funnel": {"architectures": ["FunnelModel"]},
    "glm46v": {"text_config": _MROPE},
    "glm4_moe": {"head_dim": 128},
    "glm4v": {"text_config": _MROPE},
    "glm4v_moe": {"text_config": {"head_dim": 128}},
    "glm4v_moe_text": {"head_dim": 128},
    "glm4v_text": _MROPE,
    "glm_image": {"text_config": _MROPE},
    "glm_image_text": _MROPE,
    "glmga": {"text_config": _MROPE},
    "hunyuan_v1_dense": {"head_dim": 128},
    "hunyuan_v1_moe": {"head_dim": 128},
    "hunyuan_vl": {"text_config": {"head_dim": 128, **_XDROPE}},
    "hunyuan_vl_text": {"head_dim": 128, **_XDROPE},
    "informer": {"prediction_length": 24},
    "instructblip": {"image_token_index": 50265},
    "instructblipvideo": {"video_token_index": 50265},
    "lfm2_moe": {"layer_types": ["conv", "full_attention"] * 16},
    "lw_detr": {"projector_scale_factors": [1.0]},
    "ministral": {"head_dim": 128},
    "nemotron": {"num_key_value_heads": 48},
    "omdet-turbo": {
        **_WITH_RESNET,
        "encoder_in_channels": [512, 1024, 2048],
        "apply_layernorm_after_vision_backbone": False,
    },
    "qwen2_5_omni_thinker": {"vision_start_token_id": 151652, "vision_end_token_id": 151653},
    "qwen2_vl": {"vision_config": {"hidden_size": 8192}},
    "qwen3_omni_moe_thinker": {
        "text_config": {"head_dim": 128},
        "vision_start_token_id": 151652,
        "vision_end_token_id": 151653,
    },
    "step3p7": {"text_config": {"sliding_window": 512}},
    "table-transformer": _WITH_LAST_STAGE,
    "time_series_transformer": {"prediction_length": 24},
    "xmod": {"default_language": "en_XX"},
}
"""What the defaults of a type lack or contradict, and every real checkpoint of it says."""


def model_types() -> tuple[str, ...]:
    """Return every model type that AutoModel accepts, the project's own one too."""
    names = transformers.models.auto.modeling_auto.MODEL_MAPPING_NAMES
    return tuple(sorted({*names, "transformer-base"}))


def small_configuration(model_type: str) -> dict[str, Any]:
    """Return the type's default configuration with few layers, or as it is if that is refused.

    Raises:
        Exception: whatever transformers raises for its own default configuration.
    """
    *small, default = configurations(model_type)
    return next((values for values in small if _builds(values)), default)


def configurations(model_type: str) -> tuple[dict[str, Any], ...]:
    """Return the type's default configuration with few layers, with one more, and as it is.

    Raises:
        Exception: whatever transformers raises for its own default configuration.
    """
    default: dict[str, Any] = transformers.AutoConfig.for_model(
        model_type, **LACKING.get(model_type, {})
    ).to_dict()
    small = [shallow(default, few) for few in (FEW, FEW + 1)]
    return (*(values for values in small if values != default), default)


def shallow(config: Mapping[str, Any], few: int = FEW) -> dict[str, Any]:
    """Return a configuration with every depth cut to ``few``, in the parts of it as well."""
    depths = {
        key: value
        for key, value in config.items()
        if is_depth(str(key))
        and isinstance(value, int)
        and not isinstance(value, bool)
        and value > few
    }
    small: dict[str, Any] = {}
    for key, value in config.items():
        if key in depths:
            small[key] = few
        elif isinstance(value, Mapping) and key not in ("id2label", "label2id"):
            small[key] = shallow(value, few)
        elif any(goes_by_layer(str(key), value, layers) for layers in depths.values()):
            small[key] = list(value[:few])
        else:
            small[key] = value
    return small


def _builds(config: Mapping[str, Any]) -> bool:
    values = {key: value for key, value in config.items() if key != "model_type"}
    try:
        made = transformers.AutoConfig.for_model(config["model_type"], **values)
        with torch.device("meta"):
            transformers.AutoModel.from_config(made)
    except Exception:  # noqa: BLE001 - models refuse a configuration with any kind of error
        return False
    return True

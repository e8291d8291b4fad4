"""The classes that compute root-mean-square normalisation: models copy it under their own names."""

# fmt: off
# y = x / rms(x) * weight; a class without a weight leaves it out.
PLAIN = (
    "AXK1RMSNorm", "AXK2RMSNorm", "AfmoeRMSNorm", "Aimv2RMSNorm", "ApertusRMSNorm", "ArceeRMSNorm",
    "AriaTextRMSNorm", "BailingHybridRMSNorm", "BambaRMSNorm", "BeamRMSNorm", "BitNetRMSNorm",
    "BltRMSNorm", "ChameleonRMSNorm", "ClvpRMSNorm", "Cohere2MoeRMSNorm", "Cosmos3EdgeTextRMSNorm",
    "CpmAntLayerNorm", "CsmRMSNorm", "CwmRMSNorm", "DeepseekOcr2TextRMSNorm",
    "DeepseekOcr2VisionRMSNorm", "DeepseekV2RMSNorm", "DeepseekV32RMSNorm", "DeepseekV3RMSNorm",
    "DeepseekV4RMSNorm", "DeepseekV4UnweightedRMSNorm", "Deimv2RMSNorm", "DiaRMSNorm",
    "DiffLlamaRMSNorm", "DiffusionGemmaRMSNorm", "DogeRMSNorm", "Dots1RMSNorm", "Dots3NoteRMSNorm",
    "EmbeddingGemma2RMSNorm", "Emu3RMSNorm", "Ernie4_5RMSNorm", "Ernie4_5_MoeRMSNorm",
    "Ernie4_5_VLMoeRMSNorm", "EuroBertRMSNorm", "EvollaRMSNorm", "Exaone4RMSNorm",
    "Exaone4_5_RMSNorm", "ExaoneMoeRMSNorm", "FalconH1RMSNorm", "FalconMambaRMSNorm",
    "FlexOlmoRMSNorm", "FlintRMSNorm", "Gemma3nRMSNorm", "Gemma4RMSNorm", "Gemma4UnifiedRMSNorm",
    "Glm4MoeLiteRMSNorm", "Glm4MoeRMSNorm", "Glm4RMSNorm", "Glm4vMoeRMSNorm", "Glm4vMoeTextRMSNorm",
    "Glm4vRMSNorm", "Glm5NextRMSNorm", "Glm5NextTextRMSNorm", "Glm5NextTextUnweightedRMSNorm",
    "GlmImageRMSNorm", "GlmMoeDsaRMSNorm", "GlmOcrRMSNorm", "GlmRMSNorm", "GptOssRMSNorm",
    "Granite4VisionTextRMSNorm", "GraniteDoclingTextRMSNorm", "GraniteMoeHybridRMSNorm",
    "GraniteMoeRMSNorm", "GraniteMoeSWARMSNorm", "GraniteMoeSharedRMSNorm", "GraniteRMSNorm",
    "GraniteSWARMSNorm", "HYV3RMSNorm", "HYV4RMSNorm", "HeliumRMSNorm", "HiggsAudioV2RMSNorm",
    "HunYuanDenseV1RMSNorm", "HunYuanMoEV1RMSNorm", "HunYuanVLRMSNorm", "HyperCLOVAXRMSNorm",
    "Idefics2RMSNorm", "Idefics3RMSNorm", "IdeficsRMSNorm", "ImageGPTLayerNorm", "Inkling2RMSNorm",
    "Inkling2UnweightedRMSNorm", "InklingRMSNorm", "InternVLVisionRMSNorm", "JambaRMSNorm",
    "JetMoeRMSNorm", "KimiLinearRMSNorm", "Kolibri1RMSNorm", "Kosmos2_5LayerNorm",
    "KyutaiSpeechToTextRMSNorm", "LagunaRMSNorm", "Lfm2MoeRMSNorm", "Lfm2RMSNorm", "Lfm3RMSNorm",
    "Lfm3VlVisionRMSNorm", "LightOnOcrRMSNorm", "Llama4TextRMSNorm", "LlamaRMSNorm",
    "LongT5LayerNorm", "LongcatFlashRMSNorm", "MT5LayerNorm", "Mamba2RMSNorm", "MambaRMSNorm",
    "MellumRMSNorm", "MiMoV2FlashRMSNorm", "MiniCPM3RMSNorm", "MiniMaxM2RMSNorm", "MiniMaxRMSNorm",
    "Ministral3RMSNorm", "MinistralRMSNorm", "Mistral3RMSNorm", "Mistral4RMSNorm",
    "MistralLarge4RMSNorm", "MistralRMSNorm", "MixtralRMSNorm", "MllamaTextRMSNorm",
    "Molmo2RMSNorm", "MoshiRMSNorm", "MuseGlimmerAssistantRMSNorm", "MuseGlimmerRMSNorm",
    "MuseSparkRMSNorm", "NemotronHRMSNorm", "NemotronH_Omni_RMSNorm", "NeoMMERMSNorm",
    "NeuCodecRMSNorm", "Olmo2RMSNorm", "Olmo3RMSNorm", "OlmoHybridRMSNorm", "OlmoeRMSNorm",
    "OpenAIPrivacyFilterRMSNorm", "Ovis2RMSNorm", "PaddleOCRRMSNorm", "PeAudioEncoderRMSNorm",
    "PeAudioVideoEncoderRMSNorm", "PeVideoEncoderRMSNorm", "Phi3RMSNorm", "Phi4MultimodalRMSNorm",
    "Pix2StructLayerNorm", "PixtralRMSNorm", "Pop2PianoLayerNorm", "QianfanOCRVisionRMSNorm",
    "Qwen2MoeRMSNorm", "Qwen2RMSNorm", "Qwen2VLRMSNorm", "Qwen2_5OmniRMSNorm", "Qwen2_5_VLRMSNorm",
    "Qwen3MoeRMSNorm", "Qwen3OmniMoeCode2WavRMSNorm", "Qwen3OmniMoeRMSNorm",
    "Qwen3OmniMoeTextRMSNorm", "Qwen3OmniMoeThinkerTextRMSNorm", "Qwen3RMSNorm",
    "Qwen3VLMoeTextRMSNorm", "Qwen3VLTextRMSNorm", "RMSNorm", "Sapiens2RMSNorm", "SeedOssRMSNorm",
    "SmolLM3RMSNorm", "SolarOpenRMSNorm", "SwitchTransformersLayerNorm", "T5LayerNorm",
    "TimesFm2_5RMSNorm", "TimesFmRMSNorm", "UMT5LayerNorm", "UdopLayerNorm", "UltraVBertRMSNorm",
    "UltrabertRMSNorm", "UnlimitedOcrTextRMSNorm", "VibeVoiceAcousticTokenizerRMSNorm",
    "VibeVoiceAsrRMSNorm", "VibeVoiceRMSNorm", "VoxtralRealtimeRMSNorm", "Xcodec2RMSNorm",
    "YoutuRMSNorm", "Zamba2RMSNorm", "ZambaRMSNorm", "ZayaRMSNorm",
)

# y = x / rms(x) * (1 + weight): training starts from weights of 0.
ONE_PLUS_WEIGHT = (
    "Gemma2RMSNorm", "Gemma3RMSNorm", "GemmaRMSNorm", "MiniMaxM3VLRMSNorm",
    "MuseGlimmerTextCenteredRMSNorm", "MuseSparkTextCenteredRMSNorm", "Qwen3NextRMSNorm",
    "Qwen3_5MoeRMSNorm", "Qwen3_5RMSNorm", "RecurrentGemmaRMSNorm", "Step3p7RMSNorm",
    "T5Gemma2RMSNorm", "T5GemmaRMSNorm", "VaultGemmaRMSNorm",
)
# fmt: on

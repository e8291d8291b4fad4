"""Prepares torch and transformers: offline, quiet, and never running code from a model.

Every module of the core that imports torch or transformers imports this one first: the hub's
switches are read when ``huggingface_hub`` is imported, so setting them later has no effect.
"""

import logging
import os
import warnings

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import torch
    import transformers

transformers.utils.logging.disable_progress_bar()
logging.getLogger("transformers").setLevel(logging.ERROR)
# The fused encoder of torch.nn skips the children's forward, and with it their hooks.
torch.backends.mha.set_fastpath_enabled(False)

__all__ = ["torch", "transformers"]

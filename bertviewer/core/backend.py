"""torch and transformers, quiet and with every module's hooks in force."""

import logging
import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import torch
    import transformers

transformers.utils.logging.disable_progress_bar()
# What it writes down before it raises may hold a file's text as it is.
logging.getLogger("transformers").setLevel(logging.CRITICAL)
# The fused encoder of torch.nn skips the children's forward, and with it their hooks.
torch.backends.mha.set_fastpath_enabled(False)

__all__ = ["torch", "transformers"]

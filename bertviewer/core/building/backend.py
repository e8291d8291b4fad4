"""torch and transformers, quiet and with every module's hooks in force."""

import logging
import os
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
# The threads that torch shares a product out among are not there in a process that was forked from
# this one, which would wait for them.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: torch.set_num_threads(1))

__all__ = ["torch", "transformers"]

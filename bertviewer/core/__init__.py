"""The subject: models, their structure, their figures. Uses torch and transformers, never Qt."""

import os

# The hub's client reads these once, when it is imported; here they stand before any import of it.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

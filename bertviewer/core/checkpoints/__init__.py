"""Checkpoints: finding, validating and reading files of weights, without running their code.

Start with ``finding``, which returns a ``stored.Checkpoint``; ``header`` validates a safetensors
file and ``reading`` reads values. ``load_report`` has how a checkpoint fits a model.
"""

"""Sources of models: names, folders, configurations and task heads.

Start with ``parsing``, which turns what the user typed into a ``model_source.ModelSource``.
``configuration`` reads and validates a config.json; ``families`` has what no code tells.
"""

"""A configuration becomes a module, on the meta device or with random weights.

Start with ``configurations.build_config`` and ``models.build_on_meta``. ``unused_keys`` finds
configuration keys that the model ignores; ``backend`` imports torch and transformers.
"""

"""One sentence through a model, and parts of that run again.

Start with ``running.py``: it calls the model, which ``recording.py`` observes. ``module_replay.py``
calls modules again with the inputs in an ``ActivationCache``; the folder ``replay`` uses it.
"""

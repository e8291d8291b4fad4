"""Details of a recorded run, computed on request by calling parts of it again.

One file for each kind of detail; all take the model, the run and its ``ActivationCache``, and use
``runs/module_replay.py``.
"""

"""Pickled checkpoints, which may contain programs.

``contents`` lists what a pickle would call without running it, ``converting`` writes its tensors as
safetensors in a helper process, and ``consent`` does so if the user allows it: start there.
"""

"""Models of the Hugging Face Hub: the dialog to open one, and the bar to download weights.

Start with ``dialog``.
"""

"""Analysis of a run and of a model's structure, as plain data without torch.

``layers`` and ``attention_modules`` find layers and attentions in a model, ``tokens`` the words and
classes of a run; the other modules compute what one view shows each. Start with ``layers``.
"""

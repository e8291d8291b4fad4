"""Opening a model: ``opening.open_model`` turns a source into a ``LoadedModel``.

``cached_models`` stores structure and formulas, so that known models open without torch;
``meta_model`` builds it, ``matching`` finds its tensors in a checkpoint, ``pretrained`` loads them.
"""

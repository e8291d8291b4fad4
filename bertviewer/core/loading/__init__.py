"""A source becomes an open model: ``opening.open_model`` returns a ``LoadedModel``.

``cached_models`` stores what was derived from a model, so that it opens without torch;
``meta_model`` builds it, ``matching`` finds its tensors in a checkpoint, ``pretrained`` loads them.
"""

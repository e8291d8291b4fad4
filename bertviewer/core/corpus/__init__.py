"""Statistics of a model over many sentences, in shards that several processes can run.

``making`` runs a corpus from data files to a folder; ``corpus`` is its content as plain data;
``reading``, ``merging`` and ``comparison`` work on finished folders without torch.
"""

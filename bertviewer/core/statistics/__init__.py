"""Sums and histograms of the outputs of modules, for runs and for corpora.

``row_statistics`` has sums of each row, of which any selection is merged; ``accumulators`` sums of
each feature over many batches. Both use the C module ``_sums`` if it is installed, else NumPy.
"""

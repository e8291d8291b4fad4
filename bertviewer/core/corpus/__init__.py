"""Many sentences: sums over a corpus, in shards that any number of processes may share."""

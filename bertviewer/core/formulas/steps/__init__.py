"""A module's forward formula, read off its flow: for classes that nobody described by hand."""

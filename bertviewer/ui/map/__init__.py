"""The map: a model's architecture as a picture, from the whole down to single operations."""

"""Models from the hub: choosing one, and how far its weights are."""

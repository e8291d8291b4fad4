"""The tab that lists a module's tensors and looks into one of them."""

"""What is known of a model, as plain data: modules, tensors, counts, costs, flows."""

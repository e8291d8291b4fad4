"""The walkthrough of a model: its steps from the inputs on, with shapes and parameter counts."""

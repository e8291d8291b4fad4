"""Models on the Hugging Face Hub, by ``hf://`` alone: nothing else touches the network."""

"""Luna in NVIDIA's Triton: a model repository, and the model that Triton runs from it."""

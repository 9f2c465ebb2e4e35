"""Speed and memory, measured side by side: the batch command, the encoder, and a GPU."""

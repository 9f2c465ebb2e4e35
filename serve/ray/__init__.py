"""The same judges on a Ray cluster: batches by Ray Data, the server by Ray Serve."""

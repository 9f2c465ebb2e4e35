"""Release: the card rendered from the run and its report, manifest, push and pull."""

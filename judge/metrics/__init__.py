"""Luna-2: one small model, one light head for each metric, one token for each decision."""

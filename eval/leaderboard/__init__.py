"""One page over finished evaluations: every judge, baseline and published row, with its cost."""

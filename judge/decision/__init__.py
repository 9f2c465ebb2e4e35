"""From scores to decisions: calibration, abstention, cascades and what they cost."""

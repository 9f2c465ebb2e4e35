"""The commands that judge and measure."""

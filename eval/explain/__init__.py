"""What goes wrong in a batch of verdicts, on one page for the person who has to fix it."""

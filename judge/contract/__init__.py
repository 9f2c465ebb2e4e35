"""What every folder agrees on: the records, the grammar of judges' names, and what a judge is."""

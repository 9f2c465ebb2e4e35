"""Every table and figure of the five papers: what they report, and what is measured here."""

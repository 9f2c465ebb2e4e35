"""What verdicts cost: measured speeds and tokens, dated prices, and the papers' own sums."""

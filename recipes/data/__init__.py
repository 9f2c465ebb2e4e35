"""What every recipe reads: labelled answers, synthetic data, mixes, licences and exclusions."""

"""Calibrations fitted to scores and labels."""

from moonlynx.judge.decision.calibration import fit_calibration


def fit(judge, scores, labels, method="isotonic", **options):
    settings = {"objective": "balanced-accuracy", "data_sha256": "0" * 64} | options
    return fit_calibration(judge, scores, labels, method=method, **settings)

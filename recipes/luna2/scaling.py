"""What is fitted on validation rows: temperature and bias of the probabilities, and thresholds."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moonlynx.judge.metrics.adapter import Scaling, probabilities
from moonlynx.judge.metrics.definition import MetricDefinition
from moonlynx.judge.metrics.preflight import TokenMap

from .measure import fit_thresholds

_RIDGE = 1e-2  # holds temperature to 1 and bias to 0 where rows are few
_DIGITS = 6
LEAST_ROWS = 20


class Fitted(NamedTuple):
    """Scaling and thresholds, and the mean loss in nats a decision before and after the scaling.

    Where the rows are too few, they are the defaults, empty, and None.
    """

    scaling: Scaling
    thresholds: dict[str, float]
    before: float | None
    after: float | None


def fit(
    definition: MetricDefinition,
    tokens: TokenMap,
    logits: NDArray[np.float64],
    targets: NDArray[np.int64],
) -> Fitted:
    """Fit to validation rows.

    `logits` of the class tokens have shape (rows, places, answers), in the order of `tokens.ids`;
    `targets`, each the index of the right answer, (rows, places).
    """
    names = list(definition.classes)
    if len(targets) < LEAST_ROWS:
        return Fitted(Scaling(), {}, None, None)
    before = _loss(logits, targets)
    temperature, bias = _fit_scaling(logits, targets)
    after = _loss(logits / temperature + bias, targets)
    # The first answer of a multi-label place is true; what shifts it against false is its bias.
    shifts = bias[:, 0] - bias[:, 1] if definition.kind == "multi-label" else bias[0]
    scaling = Scaling(
        temperature=round(temperature, _DIGITS),
        bias={name: round(float(b), _DIGITS) for name, b in zip(names, shifts, strict=True)},
    )
    scored = np.array(
        [
            [probabilities(definition, tokens, scaling, row.tolist())[name] for name in names]
            for row in logits
        ]
    )
    # Of a label's two answers true is the first.
    holds = 0 if definition.kind == "multi-label" else np.arange(len(names))
    thresholds = fit_thresholds(definition, np.equal(targets, holds), scored)
    return Fitted(scaling, thresholds, before, after)


def _loss(logits: NDArray[np.float64], targets: NDArray[np.int64]) -> float:
    shifted = logits - logits.max(-1, keepdims=True)
    logprobs = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
    return float(-np.take_along_axis(logprobs, targets[..., None], -1).mean())


def _fit_scaling(
    logits: NDArray[np.float64], targets: NDArray[np.int64]
) -> tuple[float, NDArray[np.float64]]:
    """Fit one temperature, and a bias for each answer at each place, by maximum likelihood."""
    import torch

    z, right = torch.tensor(logits), torch.tensor(targets)
    log_temperature = torch.zeros((), dtype=torch.float64, requires_grad=True)
    bias = torch.zeros(z.shape[1:], dtype=torch.float64, requires_grad=True)
    solver = torch.optim.LBFGS(
        [log_temperature, bias], max_iter=200, line_search_fn="strong_wolfe", tolerance_grad=1e-9
    )

    def loss() -> torch.Tensor:
        solver.zero_grad()
        scaled = z * (-log_temperature).exp() + bias
        entropy = torch.nn.functional.cross_entropy(scaled.flatten(0, 1), right.flatten())
        held = _RIDGE * (log_temperature.square() + bias.square().mean())
        value: torch.Tensor = entropy + held
        value.backward()
        return value

    solver.step(loss)
    return float(log_temperature.detach().exp()), bias.detach().numpy()

"""The tolerances of the proof, each with the measurement that justifies it.

None is ever widened for one worker. What was measured, on right and on wrong networks, stands in
`docs/proof.md`; `scripts/measure-proof` measures it again.
"""

EXACT = 0.0
"""Parameters before any step: they are copied, not computed."""

LOGITS = 2e-6
"""Largest difference of a logit, relative to the largest logit of the batch."""

FEATURES = 2e-6
"""Largest difference of a feature, relative to the largest feature of the batch: `resnet50`, whose
50 layers of float32 convolutions leave 2e-7 to 5e-7 in right networks (docs/proof.md)."""

FIRST_LOSS = 1e-6
"""Relative difference of the loss before any update. Right float32 networks: 1e-7 and below."""

CHANGE_FIRST = 6e-4
"""Relative 2-norm of the difference of one parameter's change by the first step."""

CHANGE_LATER = 5e-3
"""The same for the changes by two, three and four steps, where rounding has begun to flip ReLU and
pooling choices on `cnn`."""

LOSS_SMOOTH = 1e-6
"""Relative difference of every later loss on networks without such choices, or few of them."""

LOSS_ROUGH = 2e-5
"""The same on `cnn`, of the first five losses; nothing is asserted after them."""

REPEATED = 0.1
"""Fraction of a batch's losses under fresh dropout masks that equal an earlier one: 0 if they are
fresh, nearly 1 if there are none."""

DROPOUT_SIGMAS = 6.0
"""Distance of the mean loss with dropout from the reference's, in standard errors of the two."""

UNREPORTED = 0.2
"""Share of the time between a batch and its answer, seen from outside, that the worker doesn't
report. Right workers: 0.01 and less for steps of some milliseconds."""

NOT_GROWING = 0.3
"""Share of the large batch's step that doesn't grow with the batch, from the times of a small and a
large one. A GRU of 150 dependent time steps has most: 0.1."""

GONE = 0.4
"""Share of a step's reported time that is gone when the next batch is kept back until the worker
must have finished. Right workers: 0.03 and less on a quiet machine, up to 0.26 on one with three
busy processes a core, whose scheduler favours whoever has rested. One that goes on computing after
its clock has stopped finds that work done: 0.77 and more."""

"""The update of Adam on the CPU, in one pass over memory."""

import numpy as np

from lgan.ops.jit import njit
from lgan.ops.numba_rows import FAST, Array


# The check for a division by zero that Python wants would keep the loop from being vectorised.
@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def adam(
    value: Array,
    grad: Array,
    mean: Array,
    square: Array,
    lr: Array,
    weight_decay: Array,
    constants: Array,
    start: int,
    stop: int,
) -> None:
    """Update some of the elements.

    The constants are the schedule's factor of the learning rates over the correction of the mean,
    ``1 - beta1``, ``beta2``, ``1 - beta2``, ``eps``, the reciprocal of the correction of the root,
    and the factors of the weight decay in the gradient and in the value, in the type of the
    values, so that nothing is widened.
    """
    rate, new, keep, fresh, eps, root, penalty, shrink = constants
    value, grad, mean = value[start:stop], grad[start:stop], mean[start:stop]
    square, lr, weight_decay = square[start:stop], lr[start:stop], weight_decay[start:stop]
    for i in range(value.size):
        decay = weight_decay[i] * value[i]
        g = grad[i] + penalty * decay
        m = mean[i] + new * (g - mean[i])
        s = keep * square[i] + fresh * g * g
        mean[i] = m
        square[i] = s
        value[i] -= lr[i] * (rate * m / (np.sqrt(s) * root + eps) + shrink * decay)

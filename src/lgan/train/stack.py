"""Many models of one shape as a single module whose parameters have a leading axis."""

import copy
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from lgan.nn.dropout import Dropout


def stack(models: Sequence[nn.Module]) -> nn.Module:
    """One module that computes what the given ones compute, side by side.

    Every parameter and buffer becomes ``[K, …]``. The modules of this library accept that: their
    outputs then have a leading axis of models.
    """
    states = [model.state_dict() for model in models]
    together = copy.deepcopy(models[0])
    for name in dict.fromkeys(name for state in states for name in state):
        tensors = [state[name] for state in states if name in state]
        if len(tensors) < len(states) or len({tensor.shape for tensor in tensors}) > 1:
            raise ValueError(f"Models of different shapes cannot train side by side: `{name}`.")
        _assign(together, name, torch.stack(tensors))
    for mine, *theirs in zip(together.modules(), *(m.modules() for m in models), strict=True):
        if isinstance(mine, Dropout):
            mine.active = any(other.active for other in theirs)
    return together


def unstack(together: nn.Module, index: int) -> dict[str, Tensor]:
    """The state of one of the models, as if it had been trained alone."""
    return {name: tensor[index].clone() for name, tensor in together.state_dict().items()}


def join(stacks: Sequence[nn.Module]) -> nn.Module:
    """All models of some stacks as one, in memory of its own, in evaluation mode."""
    states = [stacked.state_dict() for stacked in stacks]
    together = copy.deepcopy(stacks[0])
    for name in states[0]:
        _assign(together, name, torch.cat([state[name] for state in states]))
    return together.eval().requires_grad_(False)


def model_view(together: nn.Module, index: int | slice) -> nn.Module:
    """One or some of the models, in evaluation mode, as a module that shares memory with the
    stack.
    """
    alone = copy.deepcopy(together)
    for name, tensor in together.state_dict(keep_vars=True).items():
        _assign(alone, name, tensor.detach()[index])
    return alone.eval().requires_grad_(False)


def drawn(factory: Callable[[], nn.Module], seed: int) -> nn.Module:
    """A model drawn with a seed; the global generator is left alone."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return factory()


def _assign(module: nn.Module, name: str, value: Tensor) -> None:
    path, _, leaf = name.rpartition(".")
    owner = module.get_submodule(path)
    if isinstance(getattr(owner, leaf), nn.Parameter):
        setattr(owner, leaf, nn.Parameter(value))
    else:
        setattr(owner, leaf, value)

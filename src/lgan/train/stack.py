"""Many models of one shape as a single module whose parameters have a leading axis."""

import copy
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

__all__ = ["build_stack", "stack", "unstack"]


def stack(models: Sequence[nn.Module]) -> nn.Module:
    """One module that computes what the given ones compute, side by side.

    Every parameter and buffer becomes ``[K, …]``. The modules of this library accept that: their
    outputs then have a leading axis of models.
    """
    states = [model.state_dict() for model in models]
    together = copy.deepcopy(models[0])
    for name, tensors in ((n, [state[n] for state in states]) for n in states[0]):
        if len({tuple(tensor.shape) for tensor in tensors}) > 1:
            raise ValueError(f"Models of different shapes cannot train side by side: `{name}`.")
        _assign(together, name, torch.stack(tensors))
    return together


def unstack(together: nn.Module, index: int) -> dict[str, Tensor]:
    """The state of one of the models, as if it had been trained alone."""
    return {name: tensor[index].clone() for name, tensor in together.state_dict().items()}


def build_stack(factory: Callable[[], nn.Module], seeds: Sequence[int]) -> nn.Module:
    """Models drawn with the given seeds, stacked; the global generator is left alone."""
    models = []
    for seed in seeds:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            models.append(factory())
    return stack(models)


def _assign(module: nn.Module, name: str, value: Tensor) -> None:
    path, _, leaf = name.rpartition(".")
    owner = module.get_submodule(path)
    if isinstance(getattr(owner, leaf), nn.Parameter):
        setattr(owner, leaf, nn.Parameter(value))
    else:
        setattr(owner, leaf, value)

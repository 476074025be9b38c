"""Many models of one shape as a single module whose parameters have a leading axis."""

import copy
import os
from collections.abc import Callable, Iterator, Sequence
from threading import RLock
from typing import TypeVar

import torch
from torch import Tensor, nn

from lgan.nn.dropout import Dropout

T = TypeVar("T")
# All threads draw from the one generator of the process; who forks waits until none of them does.
_drawing = RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_drawing.acquire,
        after_in_parent=_drawing.release,
        after_in_child=_drawing.release,
    )


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


def drawn(draw: Callable[[], T], seed: int) -> T:
    """What is drawn with a seed, a model for example; the global generator is left alone."""
    with _drawing, torch.random.fork_rng(devices=[]):
        # `torch.manual_seed` also notes a call, with its stack, for every kind of device.
        torch.default_generator.manual_seed(seed)
        if torch.cuda.is_initialized():
            torch.cuda.manual_seed_all(seed)
        return draw()


def drawn_together(factories: Sequence[Callable[[], nn.Module]], seeds: Sequence[int]) -> nn.Module:
    """What `stack` makes of models that were `drawn` one by one, bit for bit, and sooner.

    Each factory builds two models. The others of the factory are the first, whose
    `reset_parameters` is called under their seeds, if that made of the first what the second is;
    if not, they are built as well, one after another.

    Args:
        factories: What builds every model ``[K]``; models of one factory name the same object.
        seeds: The seed of every model ``[K]``.
    """
    places: dict[int, list[int]] = {}
    for place, factory in enumerate(factories):
        places.setdefault(id(factory), []).append(place)
    firsts = [drawn(factories[own[0]], seeds[own[0]]) for own in places.values()]
    together = stack(firsts)
    rows = {
        name: tensor.new_empty((len(seeds), *tensor.shape[1:]))
        for name, tensor in together.state_dict().items()
    }
    for own, model in zip(places.values(), firsts, strict=True):
        states = _states(model, factories[own[0]], [seeds[place] for place in own])
        for place, state in zip(own, states, strict=True):
            for name, row in rows.items():
                row[place] = state[name]
    for name, row in rows.items():
        _assign(together, name, row)
    return together


def _states(
    model: nn.Module, factory: Callable[[], nn.Module], seeds: Sequence[int]
) -> Iterator[dict[str, Tensor]]:
    """The states of the models of all seeds, the first being given; each until the next is asked
    for.
    """
    state, reset = model.state_dict(), getattr(model, "reset_parameters", None)
    yield state
    for number, seed in enumerate(seeds[1:]):
        if reset is not None:
            drawn(reset, seed)
        if number == 0 or reset is None:
            built = drawn(factory, seed).state_dict()
            if any(not torch.equal(state[name], built[name]) for name in built):
                reset = None
        yield state if reset is not None else built


def _assign(module: nn.Module, name: str, value: Tensor) -> None:
    path, _, leaf = name.rpartition(".")
    owner = module.get_submodule(path)
    if isinstance(getattr(owner, leaf), nn.Parameter):
        setattr(owner, leaf, nn.Parameter(value))
    else:
        setattr(owner, leaf, value)

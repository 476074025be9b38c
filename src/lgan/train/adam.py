"""Adam over many models side by side, each with its own learning rate."""

import torch
from torch import Tensor, nn

from lgan import ops


class StackedAdam:
    """Adam (Kingma and Ba, 2015) on stacked parameters laid out as one long vector.

    One vector means a handful of operations a step instead of a handful per parameter. The
    update is that of ``torch.optim.Adam`` or, decoupled, ``torch.optim.AdamW``; every element
    knows the settings of its model.

    Args:
        model: A stacked module, parameters ``[K, …]``, which become views of the vector.
        lr: Learning rate, one or one per model ``[K]``.
        weight_decay: L2 penalty, one or one per model ``[K]``.
        decoupled: The weight decay shrinks the weights and is no part of the gradient.
    """

    beta1, beta2, eps = 0.9, 0.999, 1e-8

    def __init__(
        self,
        model: nn.Module,
        lr: float | Tensor,
        weight_decay: float | Tensor = 0.0,
        *,
        decoupled: bool = False,
    ) -> None:
        self.parameters = parameters = list(model.parameters())
        self.value = torch.cat([p.detach().flatten() for p in parameters])
        self.grad = torch.zeros_like(self.value)
        self.mean = torch.zeros_like(self.value)
        self.square = torch.zeros_like(self.value)
        self.steps = torch.zeros((), dtype=torch.float64, device=self.value.device)
        self.lr = _per_element(lr, parameters)
        self.weight_decay = _per_element(weight_decay, parameters)
        self.decays = bool((self.weight_decay > 0).any())
        self.decoupled = decoupled
        start = 0
        for p in parameters:
            stop = start + p.numel()
            p.data = self.value[start:stop].view(p.shape)
            start = stop

    def backward(self, loss: Tensor) -> None:
        """The gradients of a loss, in place of those before.

        They are joined at once: to add each to a place of its own is a kernel for every parameter.
        """
        found = torch.autograd.grad(loss, self.parameters, materialize_grads=True)
        torch.cat([gradient.flatten() for gradient in found], out=self.grad)

    @torch.no_grad()
    def step(self, scale: float | Tensor = 1.0) -> None:
        """Update all models; ``scale`` multiplies every learning rate, one or one per model (the
        schedule).

        The number of steps is a tensor, so that a captured step goes on counting.
        """
        self.steps += 1
        root = (1 - self.beta2**self.steps).sqrt().to(self.value.dtype)
        lr, scale = self.lr, torch.as_tensor(scale, device=self.value.device)
        if scale.dim() > 0:
            lr, scale = lr * _per_element(scale, self.parameters), torch.ones_like(self.steps)
        rate = (scale / (1 - self.beta1**self.steps)).to(self.value.dtype)
        if ops.compiled(self.value):
            self._compiled_step(lr, scale, rate, root)
            return
        if self.decays and self.decoupled:
            self.value.addcmul_(lr * self.weight_decay, self.value * -scale.to(self.value.dtype))
        elif self.decays:
            self.grad.addcmul_(self.weight_decay, self.value)
        self.mean.lerp_(self.grad, 1 - self.beta1)
        self.square.mul_(self.beta2).addcmul_(self.grad, self.grad, value=1 - self.beta2)
        change = self.mean / self.square.sqrt().div_(root).add_(self.eps)
        self.value.sub_(change.mul_(lr).mul_(rate))

    def _compiled_step(self, lr: Tensor, scale: Tensor, rate: Tensor, root: Tensor) -> None:
        from lgan.ops.numba_adam import adam
        from lgan.ops.threads import by_planes

        decay = (0, scale) if self.decoupled else (1, 0)
        constants = (rate, 1 - self.beta1, self.beta2, 1 - self.beta2, self.eps, 1 / root, *decay)
        arrays = [t.numpy() for t in (self.value, self.grad, self.mean, self.square, lr,
                  self.weight_decay, self.value.new_tensor(constants))]  # fmt: skip
        by_planes(lambda a, b: adam(*arrays, a, b), self.value.numel(), self.value.numel())

    def state_dict(self) -> dict[str, Tensor]:
        """Everything that changes, the parameters included, by name and not copied."""
        return {name: getattr(self, name) for name in ("value", "mean", "square", "steps")}


def _per_element(setting: float | Tensor, parameters: list[nn.Parameter]) -> Tensor:
    """The setting of the model that each element of the vector belongs to."""
    first = parameters[0]
    row = torch.as_tensor(setting, dtype=first.dtype, device=first.device).expand(first.size(0))
    return torch.cat([row[:, None].expand(-1, p[0].numel()).flatten() for p in parameters])

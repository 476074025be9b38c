"""Structures of tensors on another device."""

from dataclasses import fields
from typing import Any

import torch
from torch import Tensor


def moved(structure: Any, device: torch.device | str) -> dict[str, Any]:
    """The fields of a dataclass that are tensors, on a device, as `dataclasses.replace` takes
    them.
    """
    values = {field.name: getattr(structure, field.name) for field in fields(structure)}
    return {name: value.to(device) for name, value in values.items() if isinstance(value, Tensor)}

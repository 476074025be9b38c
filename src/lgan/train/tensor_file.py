"""Files of tensors that may be damaged or hostile: header, checksum, metadata as JSON."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor


def read_metadata(path: Path) -> dict[str, str]:
    """The metadata of a safetensors file, without its tensors."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as stored:
            return stored.metadata() or {}
    except SafetensorError as error:
        raise ValueError(f"it is not a whole safetensors file ({error})") from error


def json_object(text: str) -> dict[str, Any]:
    """A JSON object from untrusted text; ``ValueError`` for anything else."""
    try:
        plain = json.loads(text)
    except RecursionError:
        raise ValueError("its JSON is nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"its JSON cannot be read: {error}") from None
    if not isinstance(plain, dict):
        raise ValueError(f"expected a JSON object, got {type(plain).__name__}")
    return plain


def checksum(tensors: Mapping[str, Tensor]) -> str:
    """SHA-256 over names, types, shapes and values of tensors."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        tensor = tensors[name].detach().cpu().contiguous()
        digest.update(f"{name}\0{tensor.dtype}\0{list(tensor.shape)}\0".encode())
        digest.update(tensor.flatten().view(torch.uint8).numpy().data)
    return digest.hexdigest()


def not_finite(tensors: Mapping[str, Tensor]) -> str | None:
    """The name of a tensor with NaN or infinite values, if there is one."""
    return next(
        (n for n, t in tensors.items() if t.is_floating_point() and not t.isfinite().all()), None
    )

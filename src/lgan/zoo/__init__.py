"""LGAN and the models it is compared with."""

from lgan.zoo.gin import GIN
from lgan.zoo.registry import MODELS, KernelSpec, ModelSpec, NetworkSpec, model_spec

__all__ = ["GIN", "MODELS", "KernelSpec", "ModelSpec", "NetworkSpec", "model_spec"]

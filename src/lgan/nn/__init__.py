"""Layers and models."""

from lgan.nn.lgan import LGAN
from lgan.nn.lgan_conv import LGANConv

__all__ = ["LGAN", "LGANConv"]

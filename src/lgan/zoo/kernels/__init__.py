"""Graph kernels: Gram matrices to fit a support vector machine with."""

from lgan.zoo.kernels.grakel_kernels import propagation, shortest_path
from lgan.zoo.kernels.gram import Grams
from lgan.zoo.kernels.local_two_wl import local_two_wl
from lgan.zoo.kernels.random_walk import random_walk
from lgan.zoo.kernels.two_wl import two_wl
from lgan.zoo.kernels.wl_subtree import wl_subtree

__all__ = [
    "Grams",
    "local_two_wl",
    "propagation",
    "random_walk",
    "shortest_path",
    "two_wl",
    "wl_subtree",
]

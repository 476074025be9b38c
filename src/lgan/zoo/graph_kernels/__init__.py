"""Graph kernels: Gram matrices to fit a support vector machine with."""

from lgan.zoo.graph_kernels.grakel_kernels import propagation, shortest_path
from lgan.zoo.graph_kernels.gram import Grams
from lgan.zoo.graph_kernels.local_two_wl import local_two_wl
from lgan.zoo.graph_kernels.random_walk import random_walk
from lgan.zoo.graph_kernels.two_wl import two_wl
from lgan.zoo.graph_kernels.wl_subtree import wl_subtree

__all__ = [
    "Grams",
    "local_two_wl",
    "propagation",
    "random_walk",
    "shortest_path",
    "two_wl",
    "wl_subtree",
]

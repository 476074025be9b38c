"""Data sets: reading, generating, splitting and caching them."""

from lgan.catalogue import DATASETS, DatasetSpec, dataset_spec
from lgan.data.cache import cache_key, load_tensors, locked, replaced, save_tensors
from lgan.data.columns import Columns
from lgan.data.encoder import Encoder
from lgan.data.graph_features import GraphFeatures
from lgan.data.load import fit_encoder, load, prepared_path
from lgan.data.node_features import feature_names, node_features
from lgan.data.raw import RawGraphs
from lgan.data.readers.mirror import TU_URLS, fetch
from lgan.data.readers.tu import read_tu
from lgan.data.shards.folder import Shards
from lgan.data.shards.prepare import prepare_shards
from lgan.data.sources import load_raw
from lgan.data.split_words import SPLITS, Split, scaffolds
from lgan.data.splits import (
    check_folds,
    drawn_folds,
    read_folds,
    stratified_folds,
)
from lgan.data.synthetic import csl, motifs, random_regular, triangle_pairs
from lgan.data.transforms import EgoLineGraph

__all__ = [
    "DATASETS",
    "SPLITS",
    "TU_URLS",
    "Columns",
    "DatasetSpec",
    "EgoLineGraph",
    "Encoder",
    "GraphFeatures",
    "RawGraphs",
    "Shards",
    "Split",
    "cache_key",
    "check_folds",
    "csl",
    "dataset_spec",
    "drawn_folds",
    "feature_names",
    "fetch",
    "fit_encoder",
    "load",
    "load_raw",
    "load_tensors",
    "locked",
    "motifs",
    "node_features",
    "prepare_shards",
    "prepared_path",
    "random_regular",
    "read_folds",
    "read_tu",
    "replaced",
    "save_tensors",
    "scaffolds",
    "stratified_folds",
    "triangle_pairs",
]

"""Chemprop building its data set and graphs from a CSV; run by an interpreter that has it.

Arguments: the CSV, its target column, the number of workers. Prints JSON. Not imported by anyone:
chemprop lives in an environment of its own.
"""

import json
import sys
import time

import chemprop
import numpy as np
import pandas as pd
from chemprop.data import MoleculeDatapoint, MoleculeDataset
from rdkit import RDLogger


def main(path: str, target: str, workers: str) -> None:
    """Build the data set and tell how long it took."""
    RDLogger.DisableLog("rdApp.*")
    begin = time.perf_counter()
    table = pd.read_csv(path)
    points = []
    for smiles, y in zip(table["smiles"], table[target].to_numpy(float), strict=True):
        try:
            points.append(MoleculeDatapoint.from_smi(smiles, np.array([y])))
        except RuntimeError:  # its command line stops here; we let it go on
            continue
    data = MoleculeDataset(points, n_workers=int(workers))
    data.cache = True
    seconds = time.perf_counter() - begin
    print(
        json.dumps(
            {
                "seconds": seconds,
                "graphs": len(data),
                "atoms": int(sum(data[i].mg.V.shape[0] for i in range(len(data)))),
                "version": chemprop.__version__,
            }
        )
    )


if __name__ == "__main__":
    main(*sys.argv[1:])

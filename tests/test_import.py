"""What ``import lgan`` costs: nothing that is not needed to build a model."""

import subprocess
import sys

import pytest

import lgan

HEAVY = [
    "captum",
    "filelock",
    "grakel",
    "igraph",
    "matplotlib",
    "networkx",
    "numba",
    "optuna",
    "pooch",
    "ray",
    "rdkit",
    "rich",
    "safetensors",
    "sklearn",
    "typer",
]

# PyG loads numba where it is installed; that is not ours to change, so it is told apart.
PROBE = f"""
import sys
import torch, torch_geometric.data, torch_geometric.transforms
before = set(sys.modules)
state, threads = torch.get_rng_state(), torch.get_num_threads()
import lgan
[getattr(lgan, name) for name in lgan.__all__
 if name not in ("wl", "zoo", "LGANClassifier", "LGANRegressor")]  # which are scikit-learn's
print(sorted((set(sys.modules) - before) & set({HEAVY})))
print([m for m in sys.modules if m.startswith("lgan.") and "numba" in m])
print(torch.equal(state, torch.get_rng_state()), threads == torch.get_num_threads())
"""


def test_import_loads_nothing_heavy_and_has_no_effect():
    done = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, check=True)
    packages, compiled, effects = done.stdout.splitlines()
    assert packages == "[]", "loaded beyond what torch_geometric loads"
    assert compiled == "[]", "modules of compiled loops load when they are used"
    assert effects == "True True", "random state and number of threads"


def test_every_public_name_is_there():
    assert [name for name in lgan.__all__ if not hasattr(lgan, name)] == []
    assert lgan.__version__[0].isdigit()


@pytest.mark.parametrize(
    "code",
    [
        "import lgan; dir(lgan)",
        "import lgan.catalogue",
        "import lgan.cli.training, lgan.cli.data",
    ],
)
def test_torch_is_read_when_it_is_needed_and_not_before(code):
    probe = f"import sys; {code}; print({{'torch', 'numpy', 'scipy', 'numba'}} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_a_name_that_is_not_there_is_an_attribute_error():
    assert {"LGAN", "wl", "zoo"} <= set(dir(lgan))
    with pytest.raises(AttributeError, match="no attribute 'lagn'"):
        _ = lgan.lagn

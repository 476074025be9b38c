import subprocess
import sys

import torch

from lgan.train.environment import environment, peak_memory, typed_command

WITHOUT_RESOURCE = """
import sys
import torch_geometric  # which imports it on Linux
sys.modules["resource"] = None  # as on Windows: importing it raises ImportError
import lgan, lgan.train
"""


def test_the_package_is_imported_where_there_is_no_module_resource():
    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT_RESOURCE], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr


def test_peak_memory_is_that_of_a_process_with_torch_in_it():
    assert 50 << 20 < peak_memory(torch.device("cpu")) < 1 << 40


def test_the_environment_names_versions_and_machine():
    found = environment(torch.device("cpu"))
    assert found["torch"] == torch.__version__
    assert found["threads"] == torch.get_num_threads()


def test_command_keeps_what_was_typed_but_no_folders_of_the_machine(monkeypatch):
    monkeypatch.setattr(
        sys, "argv", ["/usr/bin/lgan", "explain", "runs/m", "--smiles", "C#N", "--mirror", "/a/tu"]
    )
    assert typed_command() == "lgan explain runs/m --smiles 'C#N' --mirror tu"

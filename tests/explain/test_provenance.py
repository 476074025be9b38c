import sys

from lgan.explain.provenance import typed_command


def test_command_keeps_what_was_typed_but_no_folders_of_the_machine(monkeypatch):
    monkeypatch.setattr(
        sys, "argv", ["/usr/bin/lgan", "explain", "runs/m", "--smiles", "C#N", "--mirror", "/a/tu"]
    )
    assert typed_command() == "lgan explain runs/m --smiles 'C#N' --mirror tu"

from pathlib import Path

import pytest

from lgan.catalogue import DATASETS, archives_at_hand, known_dataset, tu_names


def test_the_collection_holds_its_well_known_sets_once() -> None:
    names = tu_names()
    assert len(set(names)) == len(names) > 130
    assert {"ENZYMES", "NCI1", "DD", "REDDIT-MULTI-12K", "ZINC_full"} <= set(names)
    downloadable = {name for name, spec in DATASETS.items() if spec.downloadable}
    assert downloadable <= set(names)


def test_names_are_those_of_the_registry_the_collection_and_of_archives() -> None:
    for name in ("MUTAG", "triangles", "ENZYMES"):
        assert known_dataset(name) == name
    assert known_dataset("mine", ["mine"]) == "mine"
    with pytest.raises(ValueError, match=r"'enzymes'.*Did you mean ENZYMES\?.*MUTAG"):
        known_dataset("enzymes")
    with pytest.raises(ValueError, match=r"'mne'.*Did you mean mine\?"):
        known_dataset("mne", ["mine"])


def test_archives_of_mirror_and_root_are_at_hand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LGAN_MIRROR", raising=False)
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "one.zip").touch()
    (tmp_path / "mirror").mkdir()
    (tmp_path / "mirror" / "two.zip").touch()
    assert archives_at_hand(root=tmp_path) == ["one"]
    assert archives_at_hand(root=tmp_path, mirror=tmp_path / "mirror") == ["one", "two"]
    assert archives_at_hand(root=tmp_path, mirror=f"file://{tmp_path}/mirror") == ["one", "two"]
    assert archives_at_hand(root=tmp_path, mirror="https://example.org") == ["one"]

import pytest

from lgan.catalogue import DATASETS, dataset_spec


@pytest.mark.parametrize("name", DATASETS)
def test_every_row_is_found_by_its_name(name: str) -> None:
    spec = dataset_spec(name)
    assert spec.name == name
    assert spec.classes >= 2
    assert (spec.content_sha256 is None) == (spec.kind == "synthetic")
    assert spec.readout == ("mean" if spec.features == "degree" else "sum")


def test_unknown_name_lists_the_names_and_the_closest() -> None:
    with pytest.raises(ValueError, match=r"'mutagg'. Did you mean MUTAG\?.*PROTEINS.*csl"):
        dataset_spec("mutagg")
    with pytest.raises(ValueError, match=r"'zzz'. Choose one of: MUTAG"):
        dataset_spec("zzz")

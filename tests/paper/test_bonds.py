from paper.bonds import RULES, bond_grids
from paper.records import read_runs


def test_models_are_compared_with_themselves_without_bonds(record, folder):
    record("a", [4, 4, 4, 4, 3], model="lgan-res", inner=True)
    record("b", [1, 1, 0, 1, 0], model="lgan-res", edge_features="labels", edge_dim=5)
    record("c", [4, 4, 4, 3, 3], model="wl", dataset="PTC_MR", edge_features="labels", inner=True)
    record("d", [4] * 5, model="lgan-res", pair_code="rings", edge_features="labels")
    grids = dict(zip(RULES, bond_grids(read_runs(folder)), strict=True))
    by_gin = {(row[0], row[1]): row[2:] for row in grids["gin"].rows}
    assert by_gin["lgan-res", "none"] == ["95.0 ± 10.0", "not run", "not run"]
    assert by_gin["lgan-res", "bonds"] == ["15.0 ± 12.2 [-80.0] ▼", "not run", "not run"]
    assert by_gin["lgan-res + rings", "bonds"][0] == "100.0 ± 0.0"
    assert by_gin["GINE", "bonds"] == ["not run"] * 3
    by_fair = {(row[0], row[1]): row[2:] for row in grids["fair"].rows}
    assert by_fair["lgan-res", "none"][0] == "70.0 ± 10.0"
    assert by_fair["lgan-res", "bonds"][0] == "not run"
    # Kernels choose inside the training part, by members or not.
    bagged = {(row[0], row[1]): row[2:] for row in grids["bagged"].rows}
    assert bagged["wl with edge labels", "bonds"] == by_fair["wl with edge labels", "bonds"]
    assert bagged["lgan-res", "none"][0] == "not run"

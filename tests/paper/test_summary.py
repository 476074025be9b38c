from paper.classification import Classification
from paper.records import read_runs
from paper.summary import summary_grid


def test_a_set_shows_the_best_lgan_beside_gin_the_default_recipe_and_the_best_kernel(
    record, folder
):
    record("a", [4, 4, 4, 4, 2], model="lgan", inner=True)
    told = {"graph_features": "patterns,shape", "config": {"companion": "kernel"}}
    record("d", [4, 4, 4, 3, 3], model="lgan", bagged=4, recipe="default", **told)
    told["config"] = {}  # networks alone
    record("f", [4, 4, 4, 4, 3], model="lgan", bagged=4, recipe="default", **told)
    record("e", [4, 4, 4, 4, 4], model="lgan", bagged=4, recipe="default")  # graphs alone
    record("b", [4, 4, 4, 4, 3], model="lgan-res")
    record("c", [2] * 5, model="gin")
    for name, right in (("wl", 3), ("sp", 2)):
        record(name, [right] * 5, model=name, inner=True)
    first = summary_grid(Classification(read_runs(folder), {})).rows[0]
    best = ["MUTAG", "95.0 ± 10.0 (lgan-res)", "92.5", "50.0 ± 0.0"]
    assert first[:4] == best
    assert first[4].startswith("65.0")
    assert first[5] == "not run"
    assert first[6] == "50.0 (wl)"


def test_sets_without_records_say_so(record, folder):
    record("a", [4] * 5)
    assert summary_grid(Classification(read_runs(folder), {})).rows[1] == [
        "PTC", "not run", "67.4", "not run", "not run", "not run", "not done",
    ]  # fmt: skip

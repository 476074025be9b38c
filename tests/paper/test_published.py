from paper.published import ACCURACY, BREC_COUNTS, SETS, published


def test_figures_are_those_of_the_papers_table():
    lgan = ACCURACY["lgan"]
    assert [lgan[name].mean for name in SETS] == [92.5, 67.4, 77.3, 76.7, 53.3, 82.8]
    assert [lgan[name].std for name in SETS] == [6.3, 6.2, 3.7, 4.0, 3.2, 1.5]
    assert "COLLAB" not in ACCURACY["cwn"]
    assert ACCURACY["sp"]["MUTAG"].std is None


def test_every_figure_names_its_source():
    assert all(figure.source for row in ACCURACY.values() for figure in row.values())


def test_a_rule_has_figures_of_its_own():
    assert published("gin", "PROTEINS", "gin").mean == 76.2
    assert published("gin", "PROTEINS", "fair").mean == 73.3
    assert published("gin", "PROTEINS", "fold-max") is None
    assert published("lgan + full", "PROTEINS") is None


def test_three_wl_separates_270_pairs_of_brec():
    assert BREC_COUNTS["3-WL"] == 270

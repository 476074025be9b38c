from paper import explanation_scores as explanations
from paper.commands.explanations import CASES


def test_the_table_of_explanations_is_printed_and_recorded(lgan, tmp_path):
    words = ("--seeds", "1", "--limit", "2", "--epochs", "3", "--method", "integrated-gradients")
    ran = lgan("table", "explanations", "triangles", *words, "--output", str(tmp_path))
    assert ran.code == 0
    assert "integrated-gradients" in ran.out.replace("\n", "")
    assert (tmp_path / "triangles.json").is_file()


def test_an_unknown_case_is_refused(lgan):
    ran = lgan("table", "explanations", "squares")
    assert ran.code == 2
    assert "Unknown case 'squares'" in ran.err


def test_the_command_knows_all_cases():
    assert tuple(explanations.CASES) == CASES

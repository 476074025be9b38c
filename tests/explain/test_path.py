import pytest
import torch

from lgan.explain.path import Panel, Path, worst


def panel(gap: float, low: float = 0.0, high: float = 1.0) -> Panel:
    return Panel(low, high, torch.zeros(1), torch.zeros(0), gap)


def test_the_rule_is_exact_for_its_degree():
    points, weights = Path(steps=3, order=3).rule()
    for degree in range(6):
        assert float(weights @ points**degree) == pytest.approx(1 / (degree + 1), abs=1e-14)
    assert float(weights @ points**6) != pytest.approx(1 / 7, abs=1e-9)


def test_the_first_panels_fill_the_path():
    assert Path(steps=4, order=2).first() == [(0, 0.5), (0.5, 1)]
    assert Path(steps=16, order=16).first() == [(0, 1)]


def test_the_panels_with_two_thirds_of_all_gaps_are_cut():
    small, large, middle = panel(0.1), panel(-3.0), panel(1.0)
    assert worst([small, large, middle], 9) == [large]
    assert worst([small, middle, panel(-1.0)], 9)[0] is middle
    assert len(worst([panel(1.0) for _ in range(9)], 9)) == 6
    assert len(worst([panel(1.0) for _ in range(9)], 2)) == 2
    assert panel(1.0, 0.25, 0.5).halves() == [(0.25, 0.375), (0.375, 0.5)]


def test_wrong_settings_are_refused():
    with pytest.raises(ValueError, match=r"multiple of `order`.*got steps=5 and order=2"):
        Path(steps=5)
    with pytest.raises(ValueError, match="`tolerance` must be positive, got 0"):
        Path(tolerance=0)
    with pytest.raises(ValueError, match="`max_steps` must be `steps` or more, got 8 and 32"):
        Path(max_steps=8)
    with pytest.raises(ValueError, match="`baseline` must be one of empty, drawn, got 'half'"):
        Path(baseline="half")
    with pytest.raises(ValueError, match="`baselines` must be an even number, 2 or more, got 3"):
        Path(baselines=3)

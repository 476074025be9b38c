from lgan.explain.scale import Scale


def brightness(colour: str) -> float:
    return sum(int(colour[i : i + 2], 16) for i in (1, 3, 5)) / 765


def test_zero_is_grey_and_the_ends_are_red_and_blue():
    scale = Scale(3.0)
    grey = scale.colour(0.0)
    parts = [int(grey[i : i + 2], 16) for i in (1, 3, 5)]
    assert max(parts) - min(parts) < 10
    red, blue = scale.colour(3.0), scale.colour(-3.0)
    assert int(red[1:3], 16) > 150 > int(red[5:7], 16)
    assert int(blue[5:7], 16) > 150 > int(blue[1:3], 16)


def test_a_larger_score_is_darker_and_thicker_on_both_sides():
    scale = Scale(1.0)
    for sign in (1, -1):
        scores = [sign * s for s in (0.0, 0.25, 0.5, 1.0)]
        dark = [brightness(scale.colour(s)) for s in scores]
        assert dark == sorted(dark, reverse=True)
        assert len(set(dark)) == 4
        assert [scale.width(s) for s in scores] == [1.5, 2.875, 4.25, 7.0]


def test_scores_beyond_the_limit_have_the_colour_of_the_limit():
    scale = Scale(1.0)
    assert scale.colour(5.0) == scale.colour(1.0)
    assert scale.width(-5.0) == scale.width(1.0)


def test_scale_of_scores_holds_the_largest():
    assert Scale.of([0.5, -2.0]) == Scale(2.0)
    assert Scale.of([]) == Scale(0.0)


def test_joint_scale_holds_all():
    assert Scale.joint([Scale(1.0), Scale(0.5)]) == Scale(1.0)


def test_black_is_read_on_every_colour():
    for score in (-1.0, -0.5, 0.0, 0.5, 1.0):
        parts = [p / 12.92 if p < 0.04 else ((p + 0.055) / 1.055) ** 2.4
                 for p in Scale(1.0).rgb(score)]  # fmt: skip
        light = 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
        assert (light + 0.05) / 0.05 > 4.5  # what accessibility guidelines ask for


def test_scores_that_are_all_zero_are_all_neutral():
    scale = Scale.of([0.0, 0.0])
    assert scale.weight(0.0) == 0.0
    assert scale.rgb(0.0) == Scale(1.0).rgb(0.0)

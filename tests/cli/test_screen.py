"""What is told while something is done, where there is no terminal."""

from lgan.cli.screen import reading_progress


def test_stages_of_reading_are_told_by_their_names(capsys, monkeypatch):
    monkeypatch.setattr("lgan.cli.screen._Lines", lambda: told.append)
    told = []
    with reading_progress("t.csv") as progress:
        progress(0.5)
        progress(1.0)
        progress(0.25, "computing descriptors")
        progress(1.0, "computing descriptors")
    assert told == [
        "reading t.csv: 50%",
        "building t.csv: twins, triangles, pair codes",
        "computing descriptors of t.csv: 25%",
        "building t.csv: twins, triangles, pair codes",
    ]

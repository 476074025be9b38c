"""Files and Python objects of others, as `RawGraphs` or tables."""

"""Tables of molecules of any size, as folders of shards."""

"""What a launch says beside its results: traces, printf, exactness, places of threads."""

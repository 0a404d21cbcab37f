"""From a server's journal to a trace that `simulate` plays, with names or without."""

"""What shell command lines mean: from the tree of a parser to the commands they run, and whether those may ever run."""

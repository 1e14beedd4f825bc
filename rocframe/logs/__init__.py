"""Files, globs and folders → one lazy table of predictions, which reads the needed columns only."""

"""Files: prediction logs and result tables."""

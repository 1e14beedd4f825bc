"""How sure a whole curve is: bands around the ROC curve of each group."""

"""Many classes → one binary problem for each class or pair of classes, and areas over them."""

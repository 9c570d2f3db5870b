"""The control plane: herders, workers, and the rules they follow."""

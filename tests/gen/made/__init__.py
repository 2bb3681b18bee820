"""Made runs of PyTorch-like programs whose faults are known: see ../runs.py."""

"""`jacobian`, `hessian`, `recompute` and `detect_anomaly`."""

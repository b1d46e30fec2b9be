"""What converted code does while it is traced: the run-time meaning of the transpiler's operators."""

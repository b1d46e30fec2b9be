"""Random hooked programs, run by d2s in both modes and by the libraries that the contract of hooks was measured on."""

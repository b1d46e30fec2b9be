"""Programs with hooks, one per situation of the contract, each with the answer beside it."""

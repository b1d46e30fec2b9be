"""The passes: each is a function ``run(tree, ctx) -> tree``."""

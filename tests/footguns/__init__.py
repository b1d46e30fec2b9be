"""Ways in which a traced function could go stale, lose or repeat an effect, or mix things up."""

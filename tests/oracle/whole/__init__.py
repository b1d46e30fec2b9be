"""Programs as they are written for Paddle: each runs with Paddle, with d2s eagerly and with d2s in static mode."""

"""What both modes share: specs, op records, dispatch, gradient hooks.  Imports nothing of d2s but the errors."""

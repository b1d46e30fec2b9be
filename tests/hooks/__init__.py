"""The contract of gradient hooks, situation by situation."""

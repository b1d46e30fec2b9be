"""Long random histories: d2s eager, its static twin and, where one exists, an independent reference."""

"""What static mode refuses, by the user's line and before any effect of the call; and why."""

from __future__ import annotations

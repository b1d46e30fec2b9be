"""For tests of programs that use d2s: compare the modes, check gradients, keep golden files.

`d2s.testing.strategies` holds strategies for hypothesis, `d2s.testing.pytest_plugin` is a plugin of pytest.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from d2s.testing.golden import assert_golden, golden_text
    from d2s.testing.gradients import WrongGradient, check_grads
    from d2s.testing.modes import both_modes
    from d2s.testing.same import ModesDiffer, assert_same_in_both_modes

# Found when they are asked for: every session of pytest loads the plugin, and few use all of this.
_PLACES = {
    "ModesDiffer": "same",
    "WrongGradient": "gradients",
    "assert_golden": "golden",
    "assert_same_in_both_modes": "same",
    "both_modes": "modes",
    "check_grads": "gradients",
    "golden_text": "golden",
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
    globals()[name] = found
    return found


__all__ = [
    "ModesDiffer",
    "WrongGradient",
    "assert_golden",
    "assert_same_in_both_modes",
    "both_modes",
    "check_grads",
    "golden_text",
]

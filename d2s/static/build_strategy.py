"""What a user may choose about how Programs are compiled."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class BuildStrategy:
    """
    Choices for `to_static`.

    Attributes
    ----------
    batch_products : bool
        In a training step that is one static function: make one large matrix product of many small ones that a
        loop has, as in a recurrent network, whether it was unrolled or turns on a tensor; the sum of the gradients of a
        bias goes along, and signs go into constant factors.  Sums are then made in another order: gradients agree with
        those of eager mode to 1e-5 (float32) or 1e-12 (float64) of the largest, not to the bit.
    """

    batch_products: bool = False

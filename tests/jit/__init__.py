"""Tests of what surrounds a static function: specs of its arguments, saving, derivatives of derivatives."""

"""Layers that transformer models share, in plain torch: they run on any device and in any dtype."""

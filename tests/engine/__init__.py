"""Tests of the inference engine; `fakes` has the runner that they share."""

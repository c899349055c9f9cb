"""The tests mirror the packages; `tests.e2e` starts real processes and a real browser."""

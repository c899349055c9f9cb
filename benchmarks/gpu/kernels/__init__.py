"""Single kernels on a GPU."""

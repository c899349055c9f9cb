"""Low-rank additions to products: within their kernels (`within`), or by two around them (`around`)."""

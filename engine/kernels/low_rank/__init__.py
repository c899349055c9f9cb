"""Low-rank additions to products: within their kernels (`within`), or by two around them (`around`), of which
`row_attention` may take the place of the first."""

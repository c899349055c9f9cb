"""What gateway and worker share of their connections: writing at once and in order, noticing silence, and
making what a peer said fit for a log.
"""

"""A small inference engine: sequences, paged KV blocks, continuous batching, attention backends.

It knows tokens (ints or bytes), positions and devices; it knows no audio, no HTTP and no model. A model joins
by implementing `engine.model_runner.ModelRunner`; `engine.llm_engine.LLMEngine` then decides what each step
computes.
"""

"""Speech models and the glue that runs them on the engine; `models.speech` is the interface they all share."""

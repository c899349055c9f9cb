"""Speech models and the glue that runs them on the engine; `models.speech` is what all of them speak."""

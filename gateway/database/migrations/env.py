"""Run by Alembic: migrates over the connection that it is given, in that connection's transaction."""

from alembic import context

from gateway.database.tables import Base

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Base.metadata,
    render_as_batch=True,
)
context.run_migrations()

"""Keys of the requests that sent recordings of trainings."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("training_recordings", sa.Column("request_key", sa.String(64), nullable=True))
    op.add_column("training_recordings", sa.Column("request_sum", sa.String(64), nullable=True))
    op.create_index("ix_training_recordings_request_key", "training_recordings", ["request_key"], unique=True)


def downgrade() -> None:
    op.drop_index("ix_training_recordings_request_key", "training_recordings")
    op.drop_column("training_recordings", "request_sum")
    op.drop_column("training_recordings", "request_key")

"""What a job tells the times of."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("jobs", sa.Column("timestamps", sa.String(16), nullable=False, server_default="none"))


def downgrade() -> None:
    op.drop_column("jobs", "timestamps")

"""What limited clients have open at each gateway."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "open_requests",
        sa.Column("gateway", sa.String(16), nullable=False),
        sa.Column("client", sa.String(64), nullable=False),
        sa.Column("beat", sa.Integer, nullable=False),
        sa.Column("streams", sa.Integer, nullable=False),
        sa.Column("sessions", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("gateway", "client"),
    )


def downgrade() -> None:
    op.drop_table("open_requests")

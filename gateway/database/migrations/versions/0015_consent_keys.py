"""Keys of the requests that sent recordings of consents."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("voice_consents", sa.Column("request_key", sa.String(64), nullable=True))
    op.add_column("voice_consents", sa.Column("request_sum", sa.String(64), nullable=True))
    op.create_index("ix_voice_consents_request_key", "voice_consents", ["request_key"], unique=True)


def downgrade() -> None:
    op.drop_index("ix_voice_consents_request_key", "voice_consents")
    op.drop_column("voice_consents", "request_sum")
    op.drop_column("voice_consents", "request_key")

"""Names of voices and adapters as they are looked up, in any case."""

import sqlalchemy as sa
from alembic import op

from gateway.database.tables import folded_name

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for name in ("voices", "adapters"):
        op.add_column(name, sa.Column("folded_name", sa.Text(), nullable=True))
        table = sa.table(name, sa.column("id"), sa.column("name"), sa.column("folded_name"))
        rows = op.get_bind()
        named = [
            {"row": id, "folded": folded_name(known)}
            for id, known in rows.execute(sa.select(table.c.id, table.c.name))
        ]
        op.create_index(f"ix_{name}_folded_name", name, ["folded_name"])
        if named:
            change = sa.update(table).where(table.c.id == sa.bindparam("row"))
            rows.execute(change.values(folded_name=sa.bindparam("folded")), named)


def downgrade() -> None:
    for name in ("voices", "adapters"):
        op.drop_index(f"ix_{name}_folded_name", name)
        op.drop_column(name, "folded_name")

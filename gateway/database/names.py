"""The names of rows as they are looked up, also where a gateway of a former version gave them."""

from __future__ import annotations

from sqlalchemy import Connection, bindparam, select, update

from gateway.database.tables import Adapter, Voice, folded_name


def fold_names(connection: Connection) -> None:
    """Fold names that a former version made or changed while it ran beside a newer one during an upgrade."""
    for kind in (Voice, Adapter):
        table = kind.__table__
        known = connection.execute(select(table.c.id, table.c.name, table.c.folded_name)).all()
        unlike = [
            {"row": id, "folded": folded_name(name)}
            for id, name, folded in known
            if folded != folded_name(name)
        ]
        if unlike:
            change = update(table).where(table.c.id == bindparam("row"))
            connection.execute(change.values(folded_name=bindparam("folded")), unlike)

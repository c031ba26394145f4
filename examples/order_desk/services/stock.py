"""Makes the database of the stock, unless it is there: `python stock.py FOLDER`.

The file is for tenant `default`: FOLDER/default/stock.db.
"""

from __future__ import annotations

import sqlite3
import sys
from contextlib import closing
from pathlib import Path

STOCK = [("oak", 100, 20), ("ash", 3, 3), ("elm", 40, 0)]
"""Each article: how many there are, and how many of them are reserved."""


def make_stock(folder: Path) -> Path:
    file = folder / "default" / "stock.db"
    file.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(file)) as database, database:
        database.execute(
            "CREATE TABLE IF NOT EXISTS stock"
            " (sku TEXT PRIMARY KEY, held INTEGER NOT NULL, reserved INTEGER NOT NULL)"
        )
        database.executemany("INSERT OR IGNORE INTO stock VALUES (?, ?, ?)", STOCK)
    return file


if __name__ == "__main__":
    make_stock(Path(sys.argv[1]))

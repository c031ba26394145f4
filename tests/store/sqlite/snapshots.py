"""The schema of each version as it was released: the last three in full, older ones by digest.

After a new migration, `python -m tests.store.sqlite.snapshots` adds its schema and replaces the one
that is fourth from the end by its digest. What is recorded never changes.
"""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path

from tenuto.store.sqlite.migrations import MIGRATIONS, migrate
from tenuto.store.sqlite.session import Session

SNAPSHOTS = Path(__file__).parent / "schemas"
DIGESTS = SNAPSHOTS / "digests.txt"
"""Version and SHA-256 of its schema, a line each."""
IN_FULL = 3

VERSIONS = [each.version for each in MIGRATIONS]


def opened(path: Path) -> Session:
    return Session(str(path), "writer_settings", may_create=True)


def schema(session: Session) -> str:
    rows = session.connection.execute(
        "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY type <> 'table', type, name"
    )
    return "".join(f"{sql};\n\n" for (sql,) in rows)


def snapshot(version: int) -> Path:
    return SNAPSHOTS / f"{version:04}.sql"


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def digests() -> dict[int, str]:
    """Version → digest of its schema."""
    lines = (line.split() for line in DIGESTS.read_text("utf-8").splitlines())
    return {int(version): recorded for version, recorded in lines}


def main() -> None:
    recorded = digests()
    for version in VERSIONS[:-IN_FULL]:
        if snapshot(version).exists():
            recorded[version] = digest(snapshot(version).read_text("utf-8"))
            snapshot(version).unlink()
    lines = [f"{version:04} {recorded[version]}" for version in sorted(recorded)]
    DIGESTS.write_text("\n".join(lines) + "\n", "utf-8")
    with tempfile.TemporaryDirectory() as folder:
        session = opened(Path(folder) / "new.db")
        for version in VERSIONS:
            migrate(session, newest=version)
            if version not in recorded and not snapshot(version).exists():
                snapshot(version).write_text(schema(session), "utf-8")
        session.close()


if __name__ == "__main__":
    main()

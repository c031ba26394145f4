"""What the records of a tenant are read and written through: an engine, or a store beside one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from tenuto.engine.definitions.plans import Plans
    from tenuto.engine.document_bytes import DocumentBytes
    from tenuto.engine.events.inspector import Inspector
    from tenuto.engine.settings import Settings
    from tenuto.engine.turns.loader import Loader
    from tenuto.ports import Clock, Ids, Seals
    from tenuto.store.protocol import Store
    from tenuto.store.row_sizes import RowSizes


class Source(Protocol):
    """A store, and what reads it. An `Engine` is one; `Reader` of the command line is another."""

    @property
    def store(self) -> Store: ...

    @property
    def clock(self) -> Clock: ...

    @property
    def ids(self) -> Ids: ...

    @property
    def settings(self) -> Settings: ...

    @property
    def seals(self) -> Seals:
        """Encrypts the values of secrets."""
        ...

    @property
    def plans(self) -> Plans:
        """Definitions, compiled."""
        ...

    @property
    def loader(self) -> Loader:
        """Folds logs."""
        ...

    @property
    def inspector(self) -> Inspector:
        """Finds near misses."""
        ...

    @property
    def document_bytes(self) -> DocumentBytes:
        """Bounds the bytes of documents."""
        ...

    @property
    def row_sizes(self) -> RowSizes:
        """What is known of the sizes of listed rows."""
        ...

    @property
    def is_catching_up(self) -> bool:
        """Whether events are still matched that dead processes left."""
        ...

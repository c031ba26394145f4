"""Prepared statements of MySQL and MariaDB over the packets of aiomysql.

The driver itself would put arguments into the text of a statement. Here the server prepares the
statement and gets the arguments beside it (COM_STMT_PREPARE, COM_STMT_EXECUTE), so that they are
never read as SQL; and it prepares one statement only.
"""

from __future__ import annotations

import struct
from collections.abc import AsyncIterator, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final, NamedTuple

from aiomysql.connection import Connection  # type: ignore[import-untyped]
from pymysql.constants import CLIENT, FIELD_TYPE  # type: ignore[import-untyped]
from pymysql.err import OperationalError  # type: ignore[import-untyped]
from pymysql.protocol import FieldDescriptorPacket  # type: ignore[import-untyped]

_PREPARE: Final = 0x16
_EXECUTE: Final = 0x17
_CLOSE: Final = 0x19
_SET_OPTION: Final = 0x1B
_ONE_STATEMENT: Final = struct.pack("<H", 1)
_UNSIGNED: Final = 32
_BINARY: Final = 63
"""The number of the character set of bytes."""
_NO_TLS: Final = 2026
_LOST: Final = 2013
_MORE: Final = 0x0008

_WHOLE: Final = {
    FIELD_TYPE.TINY: ("<b", "<B"),
    FIELD_TYPE.SHORT: ("<h", "<H"),
    FIELD_TYPE.YEAR: ("<h", "<H"),
    FIELD_TYPE.INT24: ("<i", "<I"),
    FIELD_TYPE.LONG: ("<i", "<I"),
    FIELD_TYPE.LONGLONG: ("<q", "<Q"),
}
_TIMES: Final = (FIELD_TYPE.DATE, FIELD_TYPE.DATETIME, FIELD_TYPE.TIMESTAMP)


class Column(NamedTuple):
    """A column of an answer."""

    name: str
    type: int
    is_unsigned: bool
    is_binary: bool


class StrictConnection(Connection):  # type: ignore[misc]  # aiomysql has no types
    """A connection that gives nothing away on a line that is not as secret as was asked for."""

    most = 1_000_000
    """So many bytes more may come."""
    is_exceeded = False

    async def _read_bytes(self, num_bytes: int) -> bytes:
        self.most -= num_bytes
        if self.most < 0:
            self.is_exceeded = True
            self.close()
            raise OperationalError(_LOST, "the server sends too much")
        read: bytes = await super()._read_bytes(num_bytes)
        return read

    async def _get_server_information(self) -> None:
        await super()._get_server_information()
        if self._ssl_context and not self.server_capabilities & CLIENT.SSL:
            raise OperationalError(_NO_TLS, "the server does not speak TLS")

    async def _process_auth(
        self,
        plugin_name: str | bytes,
        auth_packet: Any,  # noqa: ANN401
    ) -> Any:  # noqa: ANN401
        name = plugin_name.decode() if isinstance(plugin_name, bytes) else plugin_name
        if name == "mysql_clear_password" and not self._secure:
            raise OperationalError(_NO_TLS, "the server asks for the password itself without TLS")
        return await super()._process_auth(plugin_name, auth_packet)


async def one_statement_at_a_time(connection: Any) -> None:  # noqa: ANN401
    """The server takes no text with several statements on this connection."""
    await connection._execute_command(_SET_OPTION, _ONE_STATEMENT)  # noqa: SLF001
    await connection._read_packet()  # noqa: SLF001


class Prepared:
    """A statement that the server has prepared."""

    def __init__(self, connection: Any, id: int, *, parameters: int, columns: int) -> None:  # noqa: ANN401
        self._connection = connection
        self._id = id
        self.parameters = parameters
        self.columns = columns
        """Of its answer; none where it is no query, also of a procedure that will give rows."""

    async def execute(self, args: Sequence[object]) -> list[Column]:
        """Run it; the columns of its answer, none where it has no rows."""
        await self._connection._execute_command(_EXECUTE, _arguments(self._id, args))  # noqa: SLF001
        first = await self._connection._read_packet()  # noqa: SLF001
        if first.is_ok_packet():
            return []
        if first.is_load_local_packet():
            self._connection.close()
            raise OperationalError(2027, "the server asks for a file")
        count = first.read_length_encoded_integer()
        found = [await self._column() for _ in range(count)]
        await _end(self._connection)
        return found

    async def rows(self, columns: Sequence[Column]) -> AsyncIterator[list[object]]:
        """The rows of the answer, each as it is read."""
        while True:
            packet = await self._connection._read_packet()  # noqa: SLF001
            if packet.is_eof_packet():
                packet.advance(3)
                if packet.read_uint16() & _MORE:
                    # The answer of a procedure goes on: nothing of it is read.
                    self._connection.close()
                return
            yield _row(packet.get_all_data(), columns)

    async def close(self) -> None:
        """The server forgets it; it sends no answer."""
        await self._connection._execute_command(_CLOSE, struct.pack("<I", self._id))  # noqa: SLF001

    async def _column(self) -> Column:
        packet = await self._connection._read_packet(FieldDescriptorPacket)  # noqa: SLF001
        return Column(
            packet.name,
            packet.type_code,
            bool(packet.flags & _UNSIGNED),
            packet.charsetnr == _BINARY,
        )


async def prepare(connection: Any, text: str) -> Prepared:  # noqa: ANN401
    """Let the server prepare one statement."""
    await connection._execute_command(_PREPARE, text)  # noqa: SLF001
    packet = await connection._read_packet()  # noqa: SLF001
    packet.advance(1)
    id = packet.read_uint32()
    columns, parameters = packet.read_uint16(), packet.read_uint16()
    for count in (parameters, columns):
        for _ in range(count):
            await connection._read_packet()  # noqa: SLF001
        if count:
            await _end(connection)
    return Prepared(connection, id, parameters=parameters, columns=columns)


async def _end(connection: Any) -> None:  # noqa: ANN401
    """The packet that ends a list of columns."""
    packet = await connection._read_packet()  # noqa: SLF001
    if not packet.is_eof_packet():
        connection.close()
        raise OperationalError(2027, "malformed packet")


def _arguments(id: int, args: Sequence[object]) -> bytes:
    found = [struct.pack("<IBI", id, 0, 1)]
    if not args:
        return found[0]
    nulls = bytearray((len(args) + 7) // 8)
    types: list[bytes] = []
    values: list[bytes] = []
    for index, each in enumerate(args):
        if each is None:
            nulls[index // 8] |= 1 << (index % 8)
        kind, value = _argument(each)
        types.append(kind)
        values.append(value)
    return b"".join([*found, bytes(nulls), b"\x01", *types, *values])


def _argument(value: object) -> tuple[bytes, bytes]:
    match value:
        case None:
            return bytes((FIELD_TYPE.NULL, 0)), b""
        case bool():
            return bytes((FIELD_TYPE.TINY, 0)), struct.pack("<b", value)
        case int() if value < 2**63:
            return bytes((FIELD_TYPE.LONGLONG, 0)), struct.pack("<q", value)
        case int():
            return bytes((FIELD_TYPE.LONGLONG, 0x80)), struct.pack("<Q", value)
        case float():
            return bytes((FIELD_TYPE.DOUBLE, 0)), struct.pack("<d", value)
        case _:
            text = str(value).encode()
            return bytes((FIELD_TYPE.VAR_STRING, 0)), _length(len(text)) + text


def _length(size: int) -> bytes:
    if size < 0xFB:
        return bytes((size,))
    if size < 1 << 16:
        return b"\xfc" + struct.pack("<H", size)
    if size < 1 << 24:
        return b"\xfd" + struct.pack("<I", size)[:3]
    return b"\xfe" + struct.pack("<Q", size)


def _row(data: bytes, columns: Sequence[Column]) -> list[object]:
    nulls = data[1 : 1 + (len(columns) + 9) // 8]
    reader = _Reader(data, 1 + len(nulls))
    return [
        None if nulls[(index + 2) // 8] >> ((index + 2) % 8) & 1 else _value(reader, column)
        for index, column in enumerate(columns)
    ]


class _Reader:
    def __init__(self, data: bytes, at: int) -> None:
        self._data = data
        self._at = at

    def number(self, format: str) -> Any:  # noqa: ANN401, A002
        (found,) = struct.unpack_from(format, self._data, self._at)
        self._at += struct.calcsize(format)
        return found

    def text(self) -> bytes:
        size = self.number("<B")
        if size == 0xFC:
            size = self.number("<H")
        elif size == 0xFD:
            size = int.from_bytes(self.taken(3), "little")
        elif size == 0xFE:
            size = self.number("<Q")
        return self.taken(size)

    def taken(self, size: int) -> bytes:
        found = self._data[self._at : self._at + size]
        self._at += size
        return found


def _value(reader: _Reader, column: Column) -> object:
    if column.type in _WHOLE:
        return reader.number(_WHOLE[column.type][column.is_unsigned])
    if column.type in (FIELD_TYPE.FLOAT, FIELD_TYPE.DOUBLE):
        return reader.number("<f" if column.type == FIELD_TYPE.FLOAT else "<d")
    if column.type in _TIMES:
        return _moment(reader, column.type)
    if column.type == FIELD_TYPE.TIME:
        return _span(reader)
    found = reader.text()
    if column.type in (FIELD_TYPE.DECIMAL, FIELD_TYPE.NEWDECIMAL):
        return Decimal(found.decode())
    if column.type == FIELD_TYPE.BIT:
        return int.from_bytes(found, "big")
    if column.type == FIELD_TYPE.JSON or not column.is_binary:
        return found.decode()
    return found


def _moment(reader: _Reader, type: int) -> object:
    size = reader.number("<B")
    if not size:
        # The zero date of MySQL is no day.
        return None
    year, month, day = reader.number("<H"), reader.number("<B"), reader.number("<B")
    hour = minute = second = micro = 0
    if size > 4:
        hour, minute, second = (reader.number("<B") for _ in range(3))
    if size > 7:
        micro = reader.number("<I")
    if not month or not day:
        return None
    if type == FIELD_TYPE.DATE:
        return date(year, month, day)
    return datetime(year, month, day, hour, minute, second, micro)  # noqa: DTZ001 - as stored


def _span(reader: _Reader) -> timedelta:
    size = reader.number("<B")
    if not size:
        return timedelta()
    is_negative, days = reader.number("<B"), reader.number("<I")
    hours, minutes, seconds = (reader.number("<B") for _ in range(3))
    micro = reader.number("<I") if size > 8 else 0
    found = timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds, microseconds=micro)
    return -found if is_negative else found

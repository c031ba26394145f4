"""What a turn writes, as arrays."""

from __future__ import annotations

from tenuto.store.postgres.parts import part


def test_a_column_without_a_value_is_sent_empty() -> None:
    """`unnest` fills up with NULL, and nobody has to say it for each row."""
    made = part("keys", [("t", None, "a", None), ("t", None, "b", b"x")])
    assert made.parameters() == {
        "tenant": ("t", "t"),
        "key": (),
        "instance_id": ("a", "b"),
        "content_hash": (None, b"x"),
    }


def test_without_rows_all_columns_are_empty() -> None:
    assert part("owned", []).parameters() == {"instance_id": ()}

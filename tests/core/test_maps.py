"""Maps that never change, small and large."""

from __future__ import annotations

from hypothesis import given, strategies as st

from tenuto.core.maps import as_map, with_item, without_item

changes = st.lists(st.tuples(st.integers(0, 60), st.none() | st.integers()), max_size=200)


@given(changes)
def test_a_map_is_what_a_dict_would_be_and_older_ones_stay(
    changes: list[tuple[int, int | None]],
) -> None:
    plain: dict[int, int] = {}
    items = as_map(dict(plain))
    seen = [(items, dict(plain))]
    for key, value in changes:
        if value is None:
            plain.pop(key, None)
            items = without_item(items, key)
        else:
            plain[key] = value
            items = with_item(items, key, value)
        seen.append((items, dict(plain)))
    for items, plain in seen:
        assert dict(items) == plain
        assert items == as_map(plain), "equal items make equal maps, however they came about"

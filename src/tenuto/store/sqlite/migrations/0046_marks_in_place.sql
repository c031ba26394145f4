-- Oldest program: 46
--
-- Bytes of a large event that its mark takes over once it is matched. The row keeps its length then,
-- and SQLite writes its first and last page anew instead of all of them.

ALTER TABLE events ADD COLUMN mark_space BLOB;

"""The work of javascript, http and dataQuery nodes: built-in tasks, and what executes them."""

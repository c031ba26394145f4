"""Where commands act: a store beside an engine, or a server over HTTP."""

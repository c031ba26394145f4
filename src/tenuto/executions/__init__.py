"""Tasks that workers outside pull: claimed in batches, held by leases, reported."""

"""The promise of the product in ten seconds: an order survives the death of its process."""

"""Encryption of stored values: keys, envelopes, and the codec between the engine and a store."""

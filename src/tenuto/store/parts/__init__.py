"""The parts of a store: a protocol of a few verbs each, with the values that it takes and gives."""

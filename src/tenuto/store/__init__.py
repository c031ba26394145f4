"""Where instances are kept: one protocol of few verbs, and the stores that speak it."""

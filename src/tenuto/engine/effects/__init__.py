"""Effects: what a durable turn calls for: attempts, timers, jobs and mailbox messages."""

"""The outbox: notifications to workflows and webhooks, and their deliveries."""

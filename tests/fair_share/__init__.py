"""Fair share of the machine: fifty small tenants beside one that takes what it can."""

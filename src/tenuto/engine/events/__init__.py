"""Events: storing them, finding their recipients, and letting waits look back."""

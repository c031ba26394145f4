"""What a process says about itself while it runs."""

"""The service: HTTP words on one side, what a workspace can do on the other."""

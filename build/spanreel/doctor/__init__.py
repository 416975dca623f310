"""What is here, what is missing, and the command that brings it."""

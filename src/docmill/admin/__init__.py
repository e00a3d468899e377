"""What an administrator sees of everybody's work, and does about it."""

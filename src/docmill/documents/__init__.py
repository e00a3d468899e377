"""The only front door: what may come in, and how it becomes a job."""

"""What an owner has set: the seller's identity, exchange rates, and what is done by default."""

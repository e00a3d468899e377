"""What Indonesia's Coretax wants of an invoice; the facts are those of mapping pt_simon_invoice."""

"""What the European standard EN 16931 wants of an invoice, for UBL and for CII."""

"""Other people's services, spoken to over the network; their failures become our faults."""

"""Which waiting parties fill the teams now: the service orders of queueing theory."""

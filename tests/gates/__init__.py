"""What `make test` holds the tests themselves to: planted faults are found, coverage stays."""

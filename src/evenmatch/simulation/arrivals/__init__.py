"""Who arrives when: drawn from processes, or read from recordings."""

"""What operators do to a running server: configurations, pauses, policies, drain."""

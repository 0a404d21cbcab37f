"""A game server for each match: a webhook or Agones is asked, again and again until it answers."""

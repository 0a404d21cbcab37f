"""Finding a place to play for every match: webhooks and Agones, asked until they answer."""

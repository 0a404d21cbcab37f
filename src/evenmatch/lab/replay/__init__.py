"""A journal decided again, the story of a match, another policy on the same inputs."""

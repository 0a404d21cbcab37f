"""Who may enter: tickets, changed tickets, the bounds of a shard, and when a newcomer counts.

`shard_limits` bounds what one shard takes; limits of rules on matches stand in `criteria`. Whatever
is refused here has changed nothing. May import `criteria` and `engine.state`; never a pool or a
policy.
"""

"""Admission decides which tickets may enter a shard, and which changes to them it accepts.

`shard_limits` bounds what one shard takes. Limits of rules on matches stand in `criteria`;
admission asks them only to refuse a party that no match could ever take. Whatever is refused has
changed nothing. May import `criteria` and `engine.state`; never a pool or a policy.
"""

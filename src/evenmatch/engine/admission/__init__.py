"""Admission decides which tickets may enter a shard, and which changes to them it accepts.

`shard_limits` bounds what one shard takes. The rules of matches are in `criteria`; admission asks
them only to refuse a party that no match could ever take. Whatever is refused has changed nothing.
May import `criteria` and `engine.state`; never a pool or a policy.
"""

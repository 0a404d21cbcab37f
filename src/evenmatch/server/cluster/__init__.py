"""A cluster: several nodes share the shards of games on one journal, and take over from each other.

`identity` names a node and signs what it hands on. `seat` is one shard at one node: asked for,
recovered, answered for, handed over. `node` has the seats, knows the other `members`, and gives
shards away until all nodes have about as many. `create_routing` takes creates past ASGI; `router`
finds the shard of any other request. A request about several shards goes to each of them
(`ask_shards`), and `joined_answers`, `configurations` and `sharded_sockets` join their answers into
one. `forwarding` and `socket_relay` hand requests on to the owner; creates go in `frames`. May
import all of the server. Nothing here elects an owner: the journal grants the leases.
"""

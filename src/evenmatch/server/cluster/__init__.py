"""A cluster: several nodes share the shards of games on one journal, and take over from each other.

`identity` names a node and signs what it hands on. `seat` is one shard at one node: asked for,
recovered, answered for, handed over. `node` has the seats, `greetings` tell it of the other
`members`, and `handover` gives shards away when it stops, and until all nodes hold about the same
number. `direct_routing` routes single creates, and what is to be done with a ticket or match,
without going through ASGI; `router` finds the shard of every other request. A request about several
shards goes to each of them (`ask_shards`), and `joined_answers`, `configurations` and
`sharded_sockets` join their answers into one. What takes that short way goes to another node in
`frames`; `forwarding` and `socket_relay` hand on all else. `peers` has the connections for both.

While no owner is known, a request waits for a moment and then gets a 503. An owner that has changed
refuses a request with the name of the new one, which is tried once. If an owner dies after it got a
request, nobody knows whether that was carried out: the 503 tells the client to repeat it.

May import all of the server. Nothing here elects an owner: the journal grants the leases.
"""

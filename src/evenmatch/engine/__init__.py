"""The engine: a deterministic state machine that turns inputs into events.

`engine` takes one input after the other and returns a record: the input with its events. `shard`
holds back answers until the journal has the record. `records` is what the journal holds. `state` is
what the engine remembers; `admission`, `matching`, `ready_check`, `backfill` and `outcomes` decide
what happens. `replay` decides a record again, `shadow` lets another policy play beside it, and
`ledger` adds up what either did for its tickets.

Every answer waits in the shard until its record is durable, so a crash never takes back what a
caller was told. A crash after the commit and before the answer loses the answer alone: recovery
folds the record, and a create that is repeated with its idempotency key gets the first answer. Keys
are kept for 600 s of engine time (`state.rows.KEEP_ENDED`). A create that is repeated without one
is refused with `AlreadyWaiting` while the first ticket waits, or its player is in a match of a
queue with `exclusive_match`; after that it makes a second ticket.

A new event is a struct in `model.events` and in its union `Event`, and a fold in
`state.reducers.REDUCERS`. If it changes the state of tickets, `state.transitions` has it in
`TRANSITIONS` and `CONCERNED`. Clients hear of it through `lifecycle` and those modules of
`server.views`, `server.dashboard`, `server.gamelift` and `server.allocation` that match on events,
and `lab.replay.timeline` has words for it. A new input is a struct in `model.inputs` and a step in
`engine`. If older versions could not read it, `records.FORMAT` rises and `records.needs` says so.
If older journals would be read differently, `state.snapshot` gets a migration. Either way
`tests/golden/journals` gets one more journal.

May import `model`, `criteria`, and of the policies the contract alone (`policies.base` and
`policies.hooks`). Never reads a clock, never does I/O, starts no threads, and draws no random
numbers of its own: time and seeds come in with the inputs.
"""

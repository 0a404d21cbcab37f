"""The engine: a deterministic state machine that turns inputs into events.

`engine` takes one input after the other and returns a record: the input with its events. `shard`
holds back answers until the journal has the record. `records` is what the journal holds. `state` is
what the engine remembers; `admission`, `matching`, `ready_check`, `backfill` and `outcomes` decide
what happens. `replay` decides a record again, `shadow` lets another policy play beside it, and
`ledger` adds up what either did for its tickets.

Every answer waits in the shard until its record is durable, so a crash never takes back what a
caller was told. A crash after the commit and before the answer loses the answer alone: recovery
folds the record, and a request that is repeated with its idempotency key gets the first answer.
Keys are kept for 600 s of engine time (`state.rows.KEEP_ENDED`). A create that is repeated without
one is refused with `AlreadyWaiting`, which names the ticket that exists, as long as that waits.

A new event is a struct in `model.events` and in its union `Event`, a fold in
`state.reducers.REDUCERS`, and, where tickets or matches change their state, a line in
`state.transitions`; what clients hear of it is up to `lifecycle` and the server's views. A new
input is a struct in `model.inputs` and a step in `engine`. Where a journal of before would be read
otherwise, `records.FORMAT` rises, `state.snapshot` gets a migration, and `tests/golden/journals`
one more journal.

May import `model`, `criteria`, and of the policies the contract alone (`policies.base` and
`policies.hooks`). Never reads a clock, never does I/O, starts no threads, and has no chance of its
own: time and seeds come in with the inputs.
"""

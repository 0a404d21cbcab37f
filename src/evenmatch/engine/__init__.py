"""The engine: a deterministic state machine that turns inputs into events.

`engine` takes one input after the other and returns a record: the input with its events. `shard`
holds back answers until the journal has the record. `records` is what the journal holds. `state`
is what the engine remembers; `admission`, `matching`, `ready_check`, `backfill` and `outcomes`
decide what happens.

May import `model`, `criteria`, and of the policies the contract alone (`policies.base` and
`policies.hooks`). Never reads a clock, never does I/O, starts no threads, and has no chance of its
own: time and seeds come in with the inputs.
"""

"""What the engine remembers, folded from events and from nothing else.

`state` has the tables and `rows` what they contain; a running engine and recovery use the same
`reducers`. May import `criteria`, the values of `model`, `engine.records` and
`engine.admission.ticket_update`, which changes a ticket; `snapshot`, which stores what matchers
have learnt too, also imports `engine.engine` and `policies.base`. Never asks a policy, and decides
nothing.
"""

"""What operators do to a running server: configurations, pauses, policies, drain.

Each change is an input to the runtime, or a state of the server that requests ask about. May import
`config`, `model`, `wire`, the engine, the store beside a journal, and of the server `runtime`,
answers and the view of switchbacks; never changes the engine behind the runtime's back.
"""

"""Who arrives when: drawn from processes, or read from recordings.

May import `model` and the streams of chance in `simulation.seeds`; `arrivals`, the entry point,
also `simulation.world`, which builds on the other modules here. Never imports the engine.
"""

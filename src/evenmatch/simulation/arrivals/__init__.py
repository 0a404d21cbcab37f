"""Who arrives when: drawn from processes, or read from recordings.

May import `model`, `simulation.world` and the streams of chance in `simulation.seeds`; never the
engine.
"""

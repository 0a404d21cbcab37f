"""Rating systems over whole periods, and what their forecasts are worth.

May import model and numpy; pure.
"""

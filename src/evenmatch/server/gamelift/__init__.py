"""Amazon GameLift's matchmaking protocol, as its own clients speak it: `POST /`, AWS JSON 1.1.

`routes` answers a call by its name, `codec` reads and writes bodies, `shapes` holds what requests
and answers look like and every limit of AWS's service model. `resources` keeps rule sets and
configurations, `tickets` lets players wait, `events` tells a webhook what becomes of them. May
import the rest of the server; decides nothing about matches.
"""

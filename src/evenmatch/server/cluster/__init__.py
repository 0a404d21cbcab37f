"""Several nodes on one journal: one of them answers, the others hand on, and any takes over.

`identity` names a node and signs what it hands on, `forwarding` hands requests on to the owner, and
`node` asks for the lease, runs the games while it holds it, and stands by while another does. May
import all of the server. Nothing here elects anybody: the lease is the journal's.
"""

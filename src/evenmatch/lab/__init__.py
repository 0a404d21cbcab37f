"""What is built on the engine for people who choose and judge rules: runs, studies, proofs, advice.

May import everything but the server, the client and the command line.
"""

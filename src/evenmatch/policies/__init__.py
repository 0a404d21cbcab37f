"""One policy a module: frozen parameters, and the matcher that decides who plays.

`base` is the contract, `registry` the names, `shared` what several policies are built of. May
import model, criteria and solvers; pure.
"""

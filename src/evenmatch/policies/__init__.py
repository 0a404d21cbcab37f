"""One policy a module: frozen parameters, and the matcher that decides who plays.

`base` is the contract, `hooks` what a policy may say beside its matches, `registry` the names of
those that come with evenmatch (a policy of your own is named by its dotted path), `shared` what
several policies are built of. May import model, criteria and solvers; pure.
"""

"""Whether a match is legal by a FlexMatch rule set: a plain, slow reading of the language.

It judges what others build, and lists the instants at which a match is legal. It is written to be
read, and shares with what compiles rules for speed nothing but the structs of a rule set and the
readers of expressions and statements, so that the two can be held against each other. `match` has
the values, `expansion` puts the numbers of an age into a rule set, `measures` computes expressions,
`judgement` judges rules and matches.

Imports `rule_set`, `expressions` and `statements` of `rules.flexmatch`, and msgspec; never a queue,
a criterion or the engine.
"""

"""Whether a match is legal by a FlexMatch rule set: a plain, slow reading of the language.

It judges given matches, and lists the instants at which a match is legal. It is written to be read.
With the code that compiles rules for speed it shares only the structs of a rule set and the readers
of expressions and statements, so that each can be tested against the other. `match` has the values,
`measures` computes expressions, `rules` judges each type of rule, and `judgement` judges matches.

Imports `rule_set`, `expressions` and `statements` of `rules.flexmatch`, and msgspec; never a queue,
a criterion or the engine.
"""

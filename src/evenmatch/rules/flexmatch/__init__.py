"""FlexMatch rule sets, language 1.0: from a JSON text to typed values, and what they allow.

`reader` is the entry point: it takes a text and gives a `rule_set.RuleSet`, with a finding for
whatever is wrong or odd. `expressions` and `statements` read the two small languages inside it,
`rendering` writes a rule set down again. `soundness` says which rules can never pass and which
expansions do nothing, `bounds` between which numbers an expression lies in every match, and
`oversights` what a rule set demands to no purpose. `compile` turns a rule set into what a queue
has: a format, conditions and criteria. `checker` judges matches by the rule set itself.

Imports `model`, of `criteria` the `registry` and `base`, msgspec and what lies in `rules`; never a
policy, a solver or the engine, and has no clock, no chance and no files.
"""

"""FlexMatch rule sets, language 1.0: from a JSON text to typed values, and what they allow.

`reader` is the entry point: it takes a text and returns a `rule_set.RuleSet`, with a finding for
each error or oddity. `expressions` and `statements` read the two small languages inside it,
`rendering` writes a rule set as text again. `soundness` finds rules that can never pass and
expansions without effect, `bounds` computes the range of an expression over all matches, and
`oversights` finds rules without purpose. `compile` turns a rule set into the parts of a queue: a
format, conditions and criteria, with attributes as `renaming` calls them in tickets. `checker`
judges matches by the rule set itself.

Imports `model`, of `criteria` the `registry` and `base`, msgspec and what lies in `rules`; never a
policy, a solver or the engine, and uses no clock, no random numbers and no files.
"""

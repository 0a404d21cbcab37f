"""FlexMatch rule sets, language 1.0: from a JSON text to typed values, and what they allow.

`reader` is the door: it takes a text and gives a `rule_set.RuleSet`, with a finding for whatever
is wrong or odd. `expressions` and `statements` read the
two small languages inside it, `soundness` says which rules can never pass and which expansions do
nothing, `rendering` writes a rule set down again. `checker` judges matches by a rule set.

Imports msgspec and `evenmatch.errors` alone; never a queue, a criterion or the engine, and has no
clock, no chance and no files.
"""

"""The kinds of criteria and rules: what each compares, and when it allows a match.

A kind is a subclass of `criteria.base.Comparison` and a line in `criteria.registry`. Its class says
what a file may hold of it (keys, limit, default attribute), how it compares one match (`gap`,
`cost`, and `pair_gap` where two tickets tell something), how that is put in words, what the engine
remembers for it, and of what form its columns are. Whoever has columns goes by the form, and
compares a kind of the form `OTHER` match by match, through the reference.

A kind may import the modules of `criteria` it builds on, never a policy, a solver or another
package above.
"""

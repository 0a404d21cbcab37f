"""The kinds of criteria and rules: what each compares, and when it allows a match.

A new kind is a module here, with a subclass of `criteria.base.Comparison`, and a line in
`criteria.registry`. Its class declares

- the contents of files: keys, the limit, the default attribute;
- how it compares one match: `gap`, `cost`, and `pair_gap` if two tickets already bound the gap;
- how that is put in words;
- what the engine must remember for it;
- the form of its columns, which is all that code on columns depends on.

A kind that compares a number builds on `numeric`, and every policy and solver knows it by its form.
A kind of the form `OTHER` is compared match by match, through the reference: `greedy` weighs it,
and its rules count everywhere, but searches for teams and rounds choose their matches without its
criterion, and `solve` and policies that work only on numbers refuse it.

To be tested and documented it also gets a queue in `testing.scripts` and its words in
`config.tables`. Nothing else names a kind (`tests/test_architecture.py`). A key that no other kind
has is also a field of `Criterion` or `Rule` in `model.queue` and of its table in `config.tables`.

May import the modules of `criteria` that it builds on. Never imports a policy, a solver or any
package above.
"""

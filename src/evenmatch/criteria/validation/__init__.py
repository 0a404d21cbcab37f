"""What a queue must be like to work, whoever made it: a TOML file, a journal or a program.

`queue` is the door. Every refusal is one sentence with the value and what is allowed.
"""

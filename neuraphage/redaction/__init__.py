"""Floor 1: secrets are taken out of what is stored, shown or sent. Pure functions over text and values.

Whoever also shortens a text redacts it first: a cut leaves half of a secret, which no pattern knows.
"""

"""Finding passages the asker may read.

`text` reads the question, `search` finds, `ranking` weighs the two legs (vectors, words) and says what a score means,
`cache` remembers results without ever crossing rights.
"""

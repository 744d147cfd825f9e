"""Finding passages the asker may read.

`text` reads the question, `search` finds, `fusion` weighs the two legs (vectors, words), `calibration` says what a
score means, `cache` remembers results without ever crossing rights.
"""

"""The commands, one file each: what they are called and take. Heavy imports wait until they run.

`diagnose` is beside `compare`, and `verify` beside `forget`.
"""

"""The commands, one file each: what they are called and take. Heavy imports wait until they run."""

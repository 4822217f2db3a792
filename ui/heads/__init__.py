"""The page Heads at work: which heads serve which relation, with n, interval and baseline."""

"""Seeds made of two numbers, so that neighbours among either draw different numbers."""

from __future__ import annotations


def mixed_seed(seed: int, number: int) -> int:
    """A seed of 32 bits for one of the many draws that belong to `seed`.

    torch's generator reads 32 bits of its seed, so all 64 are mixed down to them (the finaliser of splitmix64).
    """
    state = (seed * 0x9E3779B97F4A7C15 + number) % 2**64
    state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    state = (state ^ (state >> 27)) * 0x94D049BB133111EB % 2**64
    return (state ^ (state >> 31)) % 2**32

"""Random numbers by place, not by order: what happens at a place of a program draws the same
number whether or not something else happens before it. So a run with a fault and the run without
it differ in the fault alone."""
import zlib

MASK = (1 << 64) - 1
_crc = {}


def word(name):
    """A number for a text."""
    n = _crc.get(name)
    if n is None:
        raw = name.encode()
        n = _crc[name] = zlib.crc32(raw) << 32 | zlib.crc32(raw[::-1] + b"/")
    return n


def mix(a, b):
    """One 64-bit number of two (the finish of splitmix64)."""
    h = (a ^ (b + 0x9E3779B97F4A7C15 + (a << 6 & MASK))) & MASK
    h = (h ^ h >> 30) * 0xBF58476D1CE4E5B9 & MASK
    h = (h ^ h >> 27) * 0x94D049BB133111EB & MASK
    return h ^ h >> 31


def uniform(h, low=0.0, high=1.0):
    return low + (high - low) * (h >> 11) / (1 << 53)


def normal(h):
    """Nearly a standard normal: the sum of four words of 16 bits."""
    return ((h & 0xFFFF) + (h >> 16 & 0xFFFF) + (h >> 32 & 0xFFFF) + (h >> 48) - 131070) / 37837


def choose(h, items):
    return items[h % len(items)]

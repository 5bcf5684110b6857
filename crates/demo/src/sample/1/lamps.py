"""How long a street lamp burns."""

DAY = 24 * 60


def minutes(clock):
    """The minutes since midnight: 390 for "06:30"."""
    hours, rest = clock.split(":")
    return int(hours) * 60 + int(rest)


def burning_time(lit, put_out):
    """The minutes from when a lamp is lit until it is put out."""
    return minutes(put_out) - minutes(lit)

"""Dates and times as levels: the same moment is the same text."""

from __future__ import annotations

from datetime import datetime, timedelta


def moment_text(
    date: str | None, clock: str | None, seconds: str | None, fraction: str | None, zone: str | None
) -> str:
    """A date and a time without what is 0 at its end."""
    fraction = (fraction or "").rstrip("0").rstrip(".")
    if seconds and (seconds != "00" or fraction):
        clock = f"{clock}:{seconds}{fraction}"
    if zone and date and clock and (found := _in_utc(date, clock, zone)):
        date, clock = found
        zone = "+00:00"
    elif zone:
        zone = "+00:00" if zone == "Z" else f"{zone[:3]}:{zone[-2:]}"
    elif date and clock == "00:00":
        clock = None
    return " ".join(part for part in (date, clock) if part) + (zone or "")


def _in_utc(date: str, clock: str, zone: str) -> list[str] | None:
    """The date and the clock of UTC, as frames have them; None if there is no such date.

    Seconds are the same: zones are whole minutes.
    """
    seconds = clock[5:]
    minutes = 0 if zone == "Z" else 60 * int(zone[1:3]) + int(zone[-2:])
    try:
        moment = datetime.fromisoformat(f"{date} {clock[:5]}")
        moment -= timedelta(minutes=-minutes if zone[0] == "-" else minutes)
    except (ValueError, OverflowError):
        return None
    date, clock = moment.isoformat(" ", "minutes").split(" ")
    return [date, clock + seconds]

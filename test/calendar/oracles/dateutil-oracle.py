"""Expands the cases of its input, one JSON object a line, with python-dateutil; answers one JSON object a line."""
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

from dateutil import rrule

from answering import answer_all

EPOCH = datetime(1970, 1, 1)
DAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
MOST = 20000
SECONDS_PER_CASE = 0.05


def wall(seconds):
    return EPOCH + timedelta(seconds=seconds)


def instant(local, zone):
    # fold=0 reads a time that happens twice as the first, and one that does not happen by the offset before the gap.
    return int(local.replace(tzinfo=zone).timestamp())


def answer(case):
    zone = ZoneInfo(case["zone"])
    start = wall(case["start"])
    rule = case["rule"]
    notes = []
    parts = dict(part.split("=") for part in rule.split(";"))
    if "BYWEEKNO" in parts and not {"BYDAY", "BYMONTHDAY", "BYYEARDAY"} & set(parts):
        parts["BYDAY"] = DAYS[start.weekday()]
        notes.append("week-without-day")
    days = parts.get("BYDAY", "").split(",")
    if any(len(it) == 2 for it in days) and any(len(it) > 2 for it in days):
        # The library asks for both of `MO,2TU` at once; the RFC for either: each MO is written with its ordinals.
        weeks = 5 if parts["FREQ"] == "MONTHLY" or "BYMONTH" in parts else 53
        parts["BYDAY"] = ",".join(
            ",".join(f"{week}{it}" for week in range(1, weeks + 1)) if len(it) == 2 else it for it in days
        )
        notes.append("ordinals-and-plain-days")
    low = wall(case["from"] // 1000) - timedelta(days=2)
    high = wall(case["to"] // 1000) + timedelta(days=2)

    def build():
        return rrule.rrulestr(";".join(f"{k}={v}" for k, v in parts.items()), dtstart=start)

    first = next(iter(build()), None)
    found = set()
    if first != start:
        notes.append("start-not-in-rule")
        found.add(instant(start, zone))
        if "COUNT" in parts:
            parts["COUNT"] = str(int(parts["COUNT"]) - 1)
    if parts.get("COUNT") != "0":
        for number, local in enumerate(build()):
            if local > high:
                break
            if number > MOST:
                return {"skip": True}
            if local >= low:
                found.add(instant(local, zone))
    inside = sorted(it for it in found if case["from"] <= it * 1000 < case["to"])
    return {"starts": inside, "notes": notes}


answer_all(answer, SECONDS_PER_CASE)

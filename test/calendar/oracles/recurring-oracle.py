"""Expands the objects of its input, one JSON object a line, with recurring-ical-events; answers one a line."""
import json
import signal
import sys
from datetime import datetime, timedelta, timezone

import icalendar
import recurring_ical_events

SECONDS_PER_CASE = 0.2


def answer(case):
    calendar = icalendar.Calendar.from_ical(case["text"])
    low = datetime.fromtimestamp(case["from"] / 1000, timezone.utc)
    high = datetime.fromtimestamp(case["to"] / 1000, timezone.utc)
    events = recurring_ical_events.of(calendar, keep_recurrence_attributes=False).between(
        low - timedelta(days=2), high + timedelta(days=2)
    )
    starts = {int(event["DTSTART"].dt.timestamp()) for event in events}
    return {"starts": sorted(it for it in starts if case["from"] <= it * 1000 < case["to"])}


class TooSlow(Exception):
    """The library walks towards an instance that is far away, or nowhere."""


def stop(_signal, _frame):
    raise TooSlow()


signal.signal(signal.SIGALRM, stop)
def bounded(case):
    try:
        signal.setitimer(signal.ITIMER_REAL, SECONDS_PER_CASE)
        return answer(case)
    except Exception as error:  # Each case answers, whatever the library does with it.
        return {"error": type(error).__name__}
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


for line in sys.stdin:
    try:
        result = bounded(json.loads(line))
    except TooSlow:  # The time was up while another answer was on its way out.
        result = {"error": "TooSlow"}
    print(json.dumps(result), flush=True)

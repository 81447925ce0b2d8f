"""Expands the objects of its input, one JSON object a line, with recurring-ical-events; answers one a line."""
from datetime import datetime, timedelta, timezone

import icalendar
import recurring_ical_events

from answering import answer_all

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


answer_all(answer, SECONDS_PER_CASE)

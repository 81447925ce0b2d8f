"""python3-caldav as a program uses it: discovery, calendars, entries, searches, sync, free and busy times."""
import sys
from datetime import datetime, timezone

import caldav
from caldav.elements import dav
from caldav.lib import error

from device import Device, calendar, event, expect

url, user, password = sys.argv[1:4]
device = Device(url, user, password)
client = caldav.DAVClient(url=url + "/", username=user, password=password)

principal = client.principal()
expect(str(principal.url).endswith(f"/dav/principals/{user}/"), True, "the principal")
expect([str(one.url).rsplit("/", 2)[1] for one in principal.calendars()], ["default"], "calendars at first")
expect(principal.calendar_user_address_set()[0].startswith("urn:uuid:"), True, "an address")
expect(principal.schedule_inbox().url is not None, True, "an inbox")
expect(client.check_cdav_support() and client.check_scheduling_support(), True, "what is supported")

mine = principal.make_calendar(name="Python", cal_id="python")
expect(mine.get_properties([dav.DisplayName()]), {"{DAV:}displayname": "Python"}, "the name")
mine.set_properties([dav.DisplayName("Snake")])
expect(principal.calendar(name="Snake").url, mine.url, "a calendar by its name")

first = "DTSTART:20261102T090000Z", "DTEND:20261102T100000Z"
series = mine.save_event(calendar(event("series", "Weekly", *first, "RRULE:FREQ=WEEKLY")))
moved = event("series", "Moved", "RECURRENCE-ID:20261109T090000Z", "DTSTART:20261110T120000Z", "DTEND:20261110T130000Z")
series.data = calendar(event("series", "Weekly", *first, "RRULE:FREQ=WEEKLY", "EXDATE:20261116T090000Z"), moved)
series.save()
november = datetime(2026, 11, 1, tzinfo=timezone.utc), datetime(2026, 12, 1, tzinfo=timezone.utc)
[found] = mine.date_search(*november, expand=True)
starts = [one.dtstart.value.strftime("%d %H") for one in found.vobject_instance.vevent_list]
expect(starts, ["02 09", "10 12", "23 09", "30 09"], "occurrences, one moved and one excluded")
expect(len(mine.date_search(*november, expand=False)), 1, "objects of the month")
expect(mine.date_search(datetime(2025, 1, 1, tzinfo=timezone.utc), datetime(2025, 2, 1, tzinfo=timezone.utc)), [], "an empty month")
busy = mine.freebusy_request(*november).vobject_instance.vfreebusy.contents["freebusy"]
expect([line.value[0][0].strftime("%d %H") for line in busy], starts, "busy times")

todo = mine.save_todo(summary="Do it", due=datetime(2026, 11, 5, tzinfo=timezone.utc))
expect([len(mine.todos()), len(mine.todos(include_completed=True))], [1, 1], "things to do")
todo.complete()
expect([len(mine.todos()), len(mine.todos(include_completed=True))], [0, 1], "things done")
mine.save_journal(summary="Dear diary", dtstart=datetime(2026, 11, 5, tzinfo=timezone.utc))
expect(len(mine.journals()), 1, "journals")
expect(mine.object_by_uid("series").url, series.url, "an object by its UID")

# A second run has nothing to fetch and writes nothing; then each change of another device arrives, and nothing else.
state = mine.objects_by_sync_token(load_objects=True)
expect(len(list(state)), 3, "objects at first")
before = device.ctag("python")
expect([len(changed) for changed in state.sync()], [0, 0], "changes of nothing")
expect(device.ctag("python"), before, "the ctag after it")
device.call("PUT", "python/there.ics", calendar(event("there", "From there", *first)))
expect([len(changed) for changed in state.sync()], [1, 0], "changes when one came")
device.call("DELETE", "python/there.ics")
expect([len(changed) for changed in state.sync()], [0, 1], "changes when one went")

# What is there already is not written over by somebody who means to create it.
device.call("PUT", "python/taken.ics", calendar(event("taken", "There", *first)))
try:
    mine.save_event(calendar(event("taken", "Here", *first)), no_overwrite=True)
    raise SystemExit("an object was created over another one")
except error.ConsistencyError:
    expect("SUMMARY:There" in device.call("GET", "python/taken.ics"), True, "what was there")

series.delete()
try:
    mine.object_by_uid("series")
    raise SystemExit("a removed object is found")
except error.NotFoundError:
    pass
mine.delete()
expect(len(principal.calendars()), 1, "calendars at last")

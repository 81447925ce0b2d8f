"""Evolution's data server, without its windows: its CalDAV backend as Evolution and GNOME Calendar use it."""
import sys
import time
from urllib.parse import urlparse

import gi

gi.require_version("EDataServer", "1.2")
gi.require_version("ECal", "2.0")
gi.require_version("ICalGLib", "3.0")
from gi.repository import ECal, EDataServer, GLib, ICalGLib

from device import Device, calendar, event, expect

url, user, password = sys.argv[1:4]
device = Device(url, user, password)
ALL, THIS = ECal.ObjModType.ALL, ECal.ObjModType.THIS
# The whole of what "do not wait" is called there.
NO_WAITING = 2**32 - 1

registry = EDataServer.SourceRegistry.new_sync(None)
made = EDataServer.Source.new_with_uid("parley", None)
made.set_parent("caldav-stub")
made.get_extension(EDataServer.SOURCE_EXTENSION_CALENDAR).set_backend_name("caldav")
authentication = made.get_extension(EDataServer.SOURCE_EXTENSION_AUTHENTICATION)
authentication.set_host(urlparse(url).hostname)
authentication.set_port(urlparse(url).port)
authentication.set_user(user)
authentication.set_method("plain/password")
made.get_extension(EDataServer.SOURCE_EXTENSION_WEBDAV_BACKEND).set_resource_path("/")
made.get_extension(EDataServer.SOURCE_EXTENSION_SECURITY).set_method("none")
credentials = EDataServer.NamedParameters.new()
credentials.set("username", user)
credentials.set("password", password)

# Discovery begins at the server's name alone.
supports = EDataServer.WebDAVDiscoverSupports.EVENTS
answer = EDataServer.webdav_discover_sources_sync(made, url, supports, credentials, None)
[found] = answer.out_discovered_sources
expect(urlparse(found.href).path, f"/dav/calendars/{user}/default/", "what is discovered")
made.get_extension(EDataServer.SOURCE_EXTENSION_WEBDAV_BACKEND).set_resource_path(urlparse(found.href).path)
registry.commit_source_sync(made, None)
source = registry.ref_source("parley")
client = ECal.Client.connect_sync(source, ECal.ClientSourceType.EVENTS, NO_WAITING, None)
source.invoke_authenticate_sync(credentials, None)


def wait(condition, what):
    deadline = time.monotonic() + 20
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit(f"{what} did not come")
        while GLib.MainContext.default().iteration(False):
            pass
        time.sleep(0.02)


def summaries():
    return sorted(one.get_summary() for one in client.get_object_list_sync("#t", None)[1])


wait(lambda: source.get_connection_status() == EDataServer.SourceConnectionStatus.CONNECTED, "a connection")
expect(client.is_readonly(), False, "whether it may only read")

first = "DTSTART:20261201T090000Z", "DTEND:20261201T100000Z"
second = "DTSTART:20261208T110000Z", "DTEND:20261208T120000Z"
client.create_object_sync(ICalGLib.Component.new_from_string(event("series", "Weekly", *first, "RRULE:FREQ=WEEKLY")), 0, None)
[name] = device.files("default")
expect("SUMMARY:Weekly" in device.call("GET", f"default/{name}"), True, "what was created")
one = ICalGLib.Component.new_from_string(event("series", "Moved", "RECURRENCE-ID:20261208T090000Z", *second))
client.modify_object_sync(one, THIS, 0, None)
client.remove_object_sync("series", "20261215T090000Z", THIS, 0, None)
stored = device.call("GET", f"default/{name}")
expect(["RECURRENCE-ID" in stored, "EXDATE" in stored, "RRULE:FREQ=WEEKLY" in stored], [True, True, True], "exceptions")

# A second run writes nothing.
before = device.ctag("default")
client.refresh_sync(None)
expect(summaries(), ["Moved", "Weekly"], "what is known")
expect(device.ctag("default"), before, "the ctag after it")

device.call("PUT", "default/there.ics", calendar(event("there", "From there", *first)))
client.refresh_sync(None)
wait(lambda: "From there" in summaries(), "what another device made")
# Both change one object: the later one stands, and is what both have.
mine = client.get_object_sync("there", None, None)[1]
device.call("PUT", "default/there.ics", calendar(event("there", "There", *first)))
mine.set_summary("Here")
try:
    client.modify_object_sync(mine, ALL, 0, None)
    conflict = "Here"
except GLib.Error:
    conflict = "There"
expect(f"SUMMARY:{conflict}" in device.call("GET", "default/there.ics"), True, f"that {conflict} is stored")
client.refresh_sync(None)
wait(lambda: conflict in summaries(), f"that {conflict} is known")

device.call("DELETE", "default/there.ics")
client.refresh_sync(None)
wait(lambda: summaries() == ["Moved", "Weekly"], "that it was removed")
client.remove_object_sync("series", None, ALL, 0, None)
expect([summaries(), device.files("default")], [[], []], "what is left")

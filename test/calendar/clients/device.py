"""Another device of the same person, and the comparing of what is there with what should be."""
import base64
import re
import urllib.request


class Device:
    def __init__(self, url, user, password):
        self.home = f"{url}/dav/calendars/{user}/"
        self.credentials = "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()

    def call(self, method, path, body=None):
        headers = {"Authorization": self.credentials, "Content-Type": "text/calendar", "Depth": "1"}
        data = None if body is None else body.encode()
        request = urllib.request.Request(self.home + path, data=data, method=method, headers=headers)
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.read().decode()

    def ctag(self, calendar):
        """Moves with every writing to the calendar."""
        return re.search("<D:sync-token>([^<]+)", self.call("PROPFIND", calendar + "/")).group(1)

    def files(self, calendar):
        return re.findall(r"<D:href>[^<]*/([^/<]+\.ics)</D:href>", self.call("PROPFIND", calendar + "/"))


def expect(found, wanted, what):
    if found != wanted:
        raise SystemExit(f"{what}: {found!r} where {wanted!r} was expected")


def event(uid, summary, *lines):
    own = "".join(line + "\r\n" for line in lines)
    return f"BEGIN:VEVENT\r\nUID:{uid}\r\nDTSTAMP:20260101T000000Z\r\nSUMMARY:{summary}\r\n{own}END:VEVENT\r\n"


def calendar(*components):
    inner = "".join(components)
    return f"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//Test//EN\r\n{inner}END:VCALENDAR\r\n"

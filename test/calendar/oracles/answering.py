"""Answers each line of the input, one JSON object, with a line: what a library makes of it within some time."""
import json
import signal
import sys


class TooSlow(Exception):
    """The library walks towards an instance that is far away, or nowhere."""


def stop(_signal, _frame):
    raise TooSlow()


def bounded(answer, case, seconds):
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        return answer(case)
    except Exception as error:  # Each case answers, whatever the library does with it.
        return {"error": type(error).__name__}
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def answer_all(answer, seconds_per_case):
    signal.signal(signal.SIGALRM, stop)
    for line in sys.stdin:
        try:
            result = bounded(answer, json.loads(line), seconds_per_case)
        except TooSlow:  # The time was up while another answer was on its way out.
            result = {"error": "TooSlow"}
        print(json.dumps(result), flush=True)

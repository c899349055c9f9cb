"""Real processes, and real browsers.

pages/         the pages in browsers, the studio in a room of its own
failures/      what dies, hangs, restarts or leaves
service/       the service while nothing fails
processes.py   starts gateways and workers
browser.py     starts browsers, and watches what pages complain of
studio.py, live.py, trainings.py    what several tests of a page need
"""

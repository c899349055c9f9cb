"""What operators, their tools and workers that dial in ask for.

workers_and_queue.py  workers with drain and resume, the queue with cancel
switches.py           pages, estimates of waits, the event log, figures, restarts
events.py             the admin page's live view
fleet.py              the controller of the workers, and orders to it
health.py             liveness, readiness, metrics, version
registration.py       workers that dial in
"""

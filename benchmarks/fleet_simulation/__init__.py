"""A day of a fleet in virtual time: pool, admission and autoscaler are the product's, the rest is made up.

python -m benchmarks.fleet_simulation                    a day, about two minutes; writes results and drawing
python -m benchmarks.fleet_simulation --scale 0.05       the same day with a twentieth of the streams

traffic.py       who asks for what, and when: noon, midnight, a tenfold rise within a minute
virtual_time.py  an event loop that never waits
cluster.py       workers that load, speak, drain and die as a day's plan says
day.py           streams through the pool, decisions every two seconds
measures.py      what listeners got, what it cost, and what an oracle would have paid
plot.py          the drawing
"""

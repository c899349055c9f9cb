"""How many workers of each kind should run: functions of what operators ask for and what was seen.

rules.py       what operators ask for: kinds of workers, floors, budget, objective
window.py      what was seen lately: requests for each model, workers of each kind
demand.py      how much audio is, and soon will be, asked for; how many slots keep the objective
outlook.py     one model: that against what its workers can make
autoscaler.py  the decision: one pure function of rules and window
decision.py    what is to be done, with reasons that the event log can say
choice.py      which of the workers that serve drains
plan.py        what the rules ask for now, without any traffic

Nothing here asks a gateway, a place or a clock.
"""

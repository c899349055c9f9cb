"""Where the figures in README.md and `docs/` come from. Each is a command: `python -m benchmarks.NAME`.

cpu.py              speed against the published package, on a CPU
host_cost.py        what a step costs the host, where the device computes nothing
paused.py           what it costs to bring back a paused clip
adapters.py         what adapters cost on a CPU
neighbours.py       the bundled voice beside other programs
bad_generations.py  whether bad clips are found, and good ones left alone
text.py             how much of written text is read right
word_times.py       how far times of words are off
book.py             a book as a job
open_loop.py        requests at fixed rates: first audio, underruns
gateway/            the gateway under load
chaos/              faults, and what listeners notice of them
fleet_simulation/   a day of a fleet in virtual time
pages/              how soon the pages can be used
voice/              how a voice sounds
llm/                text models beside others
gpu/                engine, service and kernels on a GPU
results/            what these commands wrote
shared/             what these commands share
"""

"""The engine and the service on a GPU.

engines/        steps, streams and starts of ours and of a peer
adapters/       what adapters cost
ranks/          over several GPUs
kernels/        single kernels
service.py      what listeners get of a gateway and a worker; resume.py: clips that go on
accuracy.py     how far results are from double precision
many_rows.py    steps with and without what products of many rows do to be fast
profile.py      which kernels a step's time goes to
results.py      the file of all figures; plot.py: drawn; goals.py: what was to be reached
work.py         what engines are asked for; arithmetic.py: what that must take at least
checkpoints.py  random models of the released shapes; device.py: what they run on
"""

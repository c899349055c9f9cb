"""The engine and the service on a GPU.

engines/     steps, streams and starts of ours and of a peer
adapters/    what adapters cost
ranks/       over several GPUs
kernels/     single kernels
service.py   what listeners get of a gateway and a worker; `resume.py`: clips that go on
spare_rows.py    steps with rows to spare for the matrix library, and without
accuracy.py  how far results are from double precision
"""

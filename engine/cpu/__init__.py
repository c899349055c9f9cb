"""Computing on CPUs: how many there are, and how many threads of them a step takes.

cpus.py            how many CPUs and threads there are to use
thread_choice.py   how many threads to take, chosen again while an engine runs
threads.py         the threads that PyTorch computes a step with
scripting.py       functions of tensors that run as one call, without Python between their operators
"""

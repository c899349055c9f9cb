"""Where keys and values live between steps.

block_manager.py   which blocks a sequence gets, and which of them it need not compute
blocks.py          how often each block is used, what it holds, and which is handed out next
invariants.py      what holds of blocks between any two of its calls
prefix.py          what a block holds, as the hash under which it is shared
pool.py            the paged store of one device
sizing.py          how many blocks fit
host_tier.py       which blocks that the device forgot the host keeps
host_memory.py     that memory, and copies between both
host_slots.py      its slots, each of them one piece
figures.py         what the cache was good for
"""

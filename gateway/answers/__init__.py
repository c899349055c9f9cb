"""What text models write, through the same pool, queue, leases and failover as speech.

order.py    what is asked for, whichever protocol it came by; what it is charged
answer.py   one answer as attempts put it together: tokens are its state
writing.py  one answer from admission to its end
several.py  several answers at once, for one request
thinking.py what a model thinks before it answers is not read aloud
"""

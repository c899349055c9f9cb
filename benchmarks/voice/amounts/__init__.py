"""How much data buys what: adapters of some minutes of a speaker, beside the model given a reference.

    python3 -m benchmarks.voice.amounts RECORDINGS --out DIR                # 3, 10 and 30 minutes
    python3 -m benchmarks.voice.amounts RECORDINGS --shift 0.84 --out DIR   # somebody made of them
    python3 -m benchmarks.voice.amounts RECORDINGS --minutes 10 --setting high_rate telephone --out DIR

RECORDINGS is what `voxfleet finetune` takes; `../speakers/asterisk.py` makes a folder of a human speaker.
`--shift` moves pitch and formants together, as a longer or shorter vocal tract does, at the same pace. Twenty
recordings are held out, to which Resemblyzer compares. The settings beside "default" are those that users get
wrong. Of each the table tells what is heard: similarity, words, opinion, and how long clips are, since an
adapter that learnt from cut transcripts does not stop. Each adapter speaks by itself, and with the reference
beside it, as the voices of the service's trainings do. The row of the audio VAE is the speaker's own
recordings, encoded and decoded, which is as near as an adapter comes that leaves the decoder as it is.

A training takes about 1.7 s a step on two cores, so a whole table takes hours. The command can be cut and
given again: a training goes on where it was, and what is done is not done again. The three parts can also be
done on different machines, `DIR` being carried from one to the other:

    python3 -m benchmarks.voice.amounts RECORDINGS --out DIR --only prepare
    python3 -m benchmarks.voice.amounts --out DIR --only train --device cuda --at-once 8
    python3 -m benchmarks.voice.amounts --out DIR --only judge

    DIR/speaker/held_out, learnt   recordings as files, with train.jsonl
    DIR/10-default/voice           what `finetune` wrote for 10 minutes
    DIR/10-default/took.json       how long that took, once it is over
    DIR/table.json                 rows, written anew after each

speaker.py   whose recordings are learnt, and whose are held out
training.py  an adapter for each amount and setting
judging.py   what is heard of each, and the table
"""

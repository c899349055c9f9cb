"""What each subcommand of `voxfleet` does; `voxfleet/cli.py` lists them.

interrupts.py   Ctrl-C where what runs may swallow it
options.py      what several of them take alike, and how one ends that cannot do what it was told
say.py          `voxfleet say`: a clip without any server
speaking.py     a text, or an SSML document, as audio, passage after passage
say_command.py  its options, and what it prints
chat.py         `voxfleet chat`: the answer of a text model of a running service; answer_speech.py: heard
bench.py        `voxfleet bench`: what listeners of a running service get
detect.py       `voxfleet detect`: whether a file says that a model made it
finetune.py     `voxfleet finetune`: recordings of a speaker in, an adapter out
doctor.py       `voxfleet doctor`: what this machine has and lacks
sessions.py     `voxfleet sessions clean`: recordings that are too old

`serving/` is `voxfleet serve`, `fleet/commands.py` is `voxfleet fleet`.
"""

"""Models, and the glue that runs them on the engine.

speech.py         what every speech engine speaks; text.py: what a worker announces of a text model
voxcpm/           VoxCPM, text to speech, and its training
llm/              what all text models share; qwen3/: a family of them
transformer/      the transformer that all families are made of
lora/             adapters of any family
pool/             several devices behind one model in Python
sentences.py      long text in parts that a model speaks well
denoising.py      recordings without what is heard behind the speaker
config_fields.py  configuration files of checkpoints, and what is refused in them
bounds.py         which numbers a field may hold, which options there are
download.py       checkpoints from a hub
revision.py       what tells checkpoints apart
keyed_random.py   random numbers by seed and position alone
encodable.py      text that no tokenizer can take is refused
whole_files.py    files that are written whole or not at all
"""

"""The ways in which clients ask for speech and hear it, or for text and read it: a protocol is a file or a
folder.

Each translates what its clients say into one internal request, `gateway.requests.TtsRequest`, and the one
internal stream of pieces, `gateway.streams.listener.Listener`, into what they wait for. Everything between
is shared: voices and aliases, keys, limits, queue, failover, sessions, metrics (with the label `protocol`).

clip.py      a request becomes a clip; a clip as one whole file
growing.py   an HTTP response that is sent while its content is made
response.py  a clip in such a response, framed as the protocol wants it
native.py    `POST /tts`, our own
play.py      `GET /tts`, for players; links.py: the same for who has a signed link
models.py    `/v1/models`, which means something else to each
registry.py  all of them
dialogues/   text that comes in pieces over a socket and is spoken meanwhile
openai/      `/v1/audio/speech` and its neighbours, `/v1/chat/completions`, `/v1/completions`
elevenlabs/  `/v1/text-to-speech/...`, over HTTP and sockets
deepgram/    `/v1/speak`, `/v2/speak`, over HTTP and sockets
cartesia/    `/tts/bytes`, `/tts/sse`, `/tts/websocket`, `/voices`
fish/        `/v1/tts`, over HTTP and a socket
selfhosted/  `/dev/captioned_speech`, `/piper`, `/xtts`, `/process`, `/api/tts`, for clients of servers that
             people run themselves
omni/        `/v1/audio/speech/stream`, `/v1/audio/speech/batch`, vLLM-Omni's
telephony/   `/vapi`, `/jambonz`, for agents on the telephone
wyoming/     Home Assistant's, on a port of its own
lenient.py   fields that are null or unknown
kinds.py     routes for bodies of some media types
tags.py      how to speak, within the text
ignored.py   telling a client which of its fields mean nothing here
"""

"""How messages and files come from clients and go to them, whatever is asked.

client_socket.py  a client's WebSocket, from the first message to the close code
connection.py     work that ends when its HTTP client leaves
upload.py         an uploaded file: by whom, how large, how slow
file_response.py  a file of which parts may be asked for
word_files.py     times of words as a file
repeats.py        the key by which a client repeats a request
"""

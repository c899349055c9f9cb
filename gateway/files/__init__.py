"""What lies on disk, in the data folder or where the operator says.

plain_files.py    where they are opened: regular files, no pipes and no links
whole_files.py    files that are written whole or not at all
content_files.py  audio of voices, and adapters, by the hash of their content
used_files.py     those that rows of the database use
folder_lock.py    one process works in a folder
disk.py           a floor of free disk
kept_secrets.py   secrets made at the first start
"""

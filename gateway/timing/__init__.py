"""When each word of a text is said, in the audio that was made of it.

words.py      words of a text, their times, and the times of characters
envelope.py   how loud the audio is, and where it pauses
estimate.py   times from the text and the audio's pauses alone
"""

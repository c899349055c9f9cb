"""How gateway and worker write audio to WebSockets: at once where that can be, and always in order."""

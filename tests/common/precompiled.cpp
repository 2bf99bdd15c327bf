// Has nothing: its target makes the precompiled header.

"""The composition root: settings in, everything a function needs out. The one room that knows all others.

One module for each thing made, because a function pays at its start for whatever it imports: `card` must not
load AWS's SDK, `world` must not load the agent. Everything is made once per process.
"""

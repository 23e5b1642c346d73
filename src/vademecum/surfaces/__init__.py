"""The doors of the program: command line, MCP, HTTP, hooks.

Idea: thin: parse, call, print. Invariant: what one surface can do to memory goes through the same functions as on
every other.
"""

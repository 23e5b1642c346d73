"""What others wrote: documents and services outside, which are looked up and cited, and never remembered by themselves.

Idea: every source has the same three methods (`search`, `read`, `changes`) and stands in a module of its own, loaded by
name. Invariant: nothing here writes a memory; importing it touches neither the network nor a parser.
"""

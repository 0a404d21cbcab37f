"""Compiled runs: arrays in, matches out, the same ones as the engine makes."""

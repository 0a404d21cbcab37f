"""The steps of policies as kernels: one newcomer, one leave, one decision, and the run of all.

The engine and compiled runs call the same ones.
"""

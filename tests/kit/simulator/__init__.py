"""A world in which the shipped engine runs, and in which everything else is made up.

The engine package is the one that users have: lanes, dispatcher, timekeeper, postmaster, recovery.
Made up are the loop and its clock, ids and chance, the store's faults, the way of task reports,
the tasks and the clients. A run follows from its seed alone:

finished = run_seed(7)  # python -m tests.kit.simulator 7
"""

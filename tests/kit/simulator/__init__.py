"""A world in which the shipped engine runs, and in which everything else is made up.

finished = World(scenario_of(7)).run()
assert not check(finished.run)
"""

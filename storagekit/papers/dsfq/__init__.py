"""Wang and Merchant, Proportional-Share Scheduling for Distributed Storage Systems, FAST 2007.

A module for each kind of exhibit, its data first, then its findings; its charts bear the same name in `draw`.
"""

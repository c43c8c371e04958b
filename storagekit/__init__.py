"""Storage systems of many drives: simulated, computed, and held against the papers that proposed them.

The rooms, from the bottom up: `drive`, `workload`, `placement`, `schedule`, `dispatch`, `engine`, `analytic`, `metrics`,
`charts`, `plan`, `papers`, `reproduce`. Import the one you need; this file imports none.
"""

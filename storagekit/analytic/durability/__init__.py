"""Durability in closed form: the probability of data loss, its mean time, and the path that leads to it.

- `durability`: the answer for a reliability model, from its exact Markov chain
- `Chain`, `birth_death`, `chain_of`: absorbing Markov chains whose small probabilities keep their digits
- `rare_loss`: the approximations for rare losses, also for Weibull lifetimes
- `window_loss`, `surviving`, `inspected`: independent failures in fixed periods, and repair at inspections
- `burst_loss`, `scattered_loss`: the loss of many disks at once
- `LocalCode`, `local_code_chain`: local reconstruction codes, the losses that they tolerate and their Markov chain

Models are described with `storagekit.faults`. `storagekit.simulation.data_loss` simulates the same models.
"""

from storagekit.analytic.durability.answer import Burst as Burst
from storagekit.analytic.durability.answer import Durability as Durability
from storagekit.analytic.durability.answer import durability as durability
from storagekit.analytic.durability.bursts import BurstLayout as BurstLayout
from storagekit.analytic.durability.bursts import burst_loss as burst_loss
from storagekit.analytic.durability.bursts import scattered_loss as scattered_loss
from storagekit.analytic.durability.independent import inspected as inspected
from storagekit.analytic.durability.independent import surviving as surviving
from storagekit.analytic.durability.independent import window_loss as window_loss
from storagekit.analytic.durability.local_codes import LocalCode as LocalCode
from storagekit.analytic.durability.local_codes import local_code_chain as local_code_chain
from storagekit.analytic.durability.markov import LOSS as LOSS
from storagekit.analytic.durability.markov import Chain as Chain
from storagekit.analytic.durability.markov import LossPath as LossPath
from storagekit.analytic.durability.markov import Transition as Transition
from storagekit.analytic.durability.markov import birth_death as birth_death
from storagekit.analytic.durability.rare import rare_loss as rare_loss
from storagekit.analytic.durability.states import chain_of as chain_of

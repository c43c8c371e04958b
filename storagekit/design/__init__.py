"""Sensitivities and optimal values of the parameters of a design, from formulas and from simulations."""

from storagekit.design.fields import numbers_of as numbers_of
from storagekit.design.optimizing import Optimum as Optimum
from storagekit.design.optimizing import optimize as optimize
from storagekit.design.sensitivities import change_for as change_for
from storagekit.design.sensitivities import sensitivity as sensitivity

"""Reproduction runs: notebooks, exhibits as files, the scorecard, the command line.

==========================  ==========================================================
exhibits.Page               what a notebook calls to show an exhibit and state its claims
scorecard.Measurement       one measured claim
runner.reproduce            run notebooks, then write the scorecard
claims.load_exhibits        what a paper is held against
==========================  ==========================================================
"""

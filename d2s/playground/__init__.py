"""A page on this machine: type a function, see what becomes of it, run it in both modes.

``d2s playground`` serves it.  What is typed there is run as a Python program with the
rights of whoever started the server, so the server listens on the loopback interface only, its address holds a secret,
and requests that other pages send are refused; see `d2s.playground.server`.
"""

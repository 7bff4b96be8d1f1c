"""Frames, which declare the columns of rows once; all other code refers to columns by their names.

columns.py  a column: name, Arrow type, unit and description; the types of columns
arrays.py   Arrow columns as numpy arrays and back
frame.py    a frame: rows as numpy arrays of one length
batches.py  Arrow record batches with exactly the columns of a frame
"""

"""The notation of rows: a frame declares its columns once, and everything else names them.

columns.py  a column: name, Arrow type, unit and a sentence; the types that columns have
arrays.py   Arrow columns as numpy arrays and back
frame.py    a frame: rows as numpy arrays of one length
batches.py  Arrow record batches with exactly the columns of a frame
"""

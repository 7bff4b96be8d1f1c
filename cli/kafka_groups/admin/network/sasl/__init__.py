"""SASL on the client's side: one file for each mechanism; `mechanisms` chooses among them."""

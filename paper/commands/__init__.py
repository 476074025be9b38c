"""`lgan table`: the tables and figures of the paper, from records or measured anew."""

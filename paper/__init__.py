"""Tables rendered from records: nothing is trained or drawn to show one."""

"""Tables → Altair charts: the only room that knows Altair."""

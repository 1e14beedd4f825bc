"""Tables and charts → one page that needs no network."""

"""Small programs as users write them, one or more for each construct of Python."""

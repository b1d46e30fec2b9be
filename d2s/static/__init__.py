"""Static mode: Programs, how they are built, differentiated, compiled and run."""

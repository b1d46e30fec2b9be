"""Who wants to see what runs, operator by operator and hook by hook, in both modes: comparison and profiler."""

"""Many rows through a judge or a metric, into a file that survives being killed."""

"""Questions put to the returned model, in the child, after main returned."""

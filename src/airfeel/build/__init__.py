"""From settings to everything that a run needs: data, model, scheme and radio."""

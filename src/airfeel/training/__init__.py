"""From the global model to each device's update: models and local training."""

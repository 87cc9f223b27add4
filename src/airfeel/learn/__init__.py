"""From the global model to each device's update: data, models and local training."""

"""From a device's update to what it says: masks, quantiser, error memory."""

"""An OFDM waveform against the symbol-level model of the air: what the model claims, in samples."""

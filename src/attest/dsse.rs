//! DSSE envelopes.

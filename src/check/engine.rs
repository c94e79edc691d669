//! Runs the rules over one cartridge.

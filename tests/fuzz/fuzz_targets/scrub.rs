#![no_main]
acx_fuzz::fuzz!(scrub);
